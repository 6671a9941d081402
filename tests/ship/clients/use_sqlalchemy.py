# SPDX-License-Identifier: MIT
"""SQLAlchemy. Every connection of the pool loads the extension when it is made."""
from sqlalchemy import BigInteger, Column, MetaData, Table, Text, create_engine, event, func, select, text

engine = create_engine("sqlite://")


@event.listens_for(engine, "connect")
def load(con, record):
    con.enable_load_extension(True)
    con.load_extension("build/cuckoo")


users = Table("users", MetaData(), Column("id", BigInteger), Column("email", Text))
users.create(engine)
with engine.begin() as con:
    def ask(*columns):
        return con.execute(select(*columns)).scalar()

    con.execute(users.insert(), [{"id": 1, "email": "ada"}, {"id": 2, "email": "bob"},
                                 {"id": 2**53 + 1, "email": "cyd"}])
    blob = ask(func.cf_build(users.c.id, 0.000001))
    ids = [ask(func.cf_contains(blob, key)) for key in (1, 3, "one", 2**53 + 1, 2**53)]
    blob = ask(func.cf_build(users.c.email, 0.000001))
    texts = [con.execute(text("SELECT cf_contains(:f, :key)"), {"f": blob, "key": key}).scalar()
             for key in ("bob", "zoe")]
    con.execute(text("CREATE VIRTUAL TABLE known USING cuckoo_filter(capacity=100, content='users(email)')"))
    con.execute(users.insert(), [{"id": 4, "email": "dan"}])
    known = [ask(func.cf_table_contains("known", key)) for key in ("dan", "eve")]
print("ids", *ids, end=", ")
print("texts", *texts, end=", ")
print("table", *known)
