// SPDX-License-Identifier: MIT
// Java with the JDBC driver of Xerial. It unpacks its library in the temporary folder: where that is
// mounted noexec, set org.sqlite.tmpdir.
import java.sql.*;
import org.sqlite.SQLiteConfig;

class UseJava {
    static Connection db;

    static int contains(byte[] blob, Object key) throws SQLException {
        try (PreparedStatement ask = db.prepareStatement("SELECT cf_contains(?, ?)")) {
            ask.setBytes(1, blob);
            ask.setObject(2, key); // a Long as an integer, a String as text
            return ask.executeQuery().getInt(1);
        }
    }

    static int known(String key) throws SQLException {
        try (PreparedStatement ask = db.prepareStatement("SELECT cf_table_contains('known', ?)")) {
            ask.setString(1, key);
            return ask.executeQuery().getInt(1);
        }
    }

    static byte[] blob(String sql) throws SQLException {
        try (Statement statement = db.createStatement()) {
            return statement.executeQuery(sql).getBytes(1);
        }
    }

    public static void main(String[] arguments) throws SQLException {
        SQLiteConfig config = new SQLiteConfig();
        config.enableLoadExtension(true);
        db = config.createConnection("jdbc:sqlite::memory:");
        Statement run = db.createStatement();
        run.execute("SELECT load_extension('build/cuckoo')");
        run.execute("CREATE TABLE users(id INTEGER, email TEXT)");
        run.execute("INSERT INTO users VALUES (1, 'ada'), (2, 'bob'), (9007199254740993, 'cyd')");
        byte[] ids = blob("SELECT cf_build(id, 0.000001) FROM users");
        byte[] texts = blob("SELECT cf_build(email, 0.000001) FROM users");
        run.execute("CREATE VIRTUAL TABLE known USING cuckoo_filter(capacity=100, content='users(email)')");
        run.execute("INSERT INTO users VALUES (4, 'dan')");
        System.out.printf("ids %d %d %d %d %d, texts %d %d, table %d %d%n",
            contains(ids, 1L), contains(ids, 3L), contains(ids, "one"),
            contains(ids, 9007199254740993L), contains(ids, 9007199254740992L),
            contains(texts, "bob"), contains(texts, "zoe"), known("dan"), known("eve"));
    }
}
