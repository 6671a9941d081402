/** The path of the compiled extension for this machine. An error names the machines that the package is for. */
export declare function getLoadablePath(): string;

/** What load needs of a database: the Database of better-sqlite3 and of bun:sqlite, and the DatabaseSync of node:sqlite, have it. */
export interface ExtensionLoader {
  loadExtension(file: string, ...more: any[]): unknown;
}

/** Registers the functions and virtual tables on an open database. */
export declare function load(db: ExtensionLoader): void;
