public import Foundation
internal import GRDB

/// The tables of the accounts file and their migrations, in order.
enum AccountsMigrations {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("users") { database in
            try database.execute(
                sql: """
                    CREATE TABLE user (
                        handle TEXT NOT NULL PRIMARY KEY,
                        userRecordName TEXT NOT NULL UNIQUE,
                        displayName TEXT NOT NULL
                    ) STRICT, WITHOUT ROWID
                    """)
        }
        migrator.registerMigration("savedQueries") { database in
            try database.execute(
                sql: """
                    CREATE TABLE savedQuery (
                        container TEXT NOT NULL,
                        name TEXT NOT NULL,
                        scope TEXT NOT NULL,
                        zone TEXT,
                        question TEXT NOT NULL,
                        PRIMARY KEY (container, name)
                    ) STRICT, WITHOUT ROWID
                    """)
        }
        migrator.registerMigration("emailAddresses") { database in
            try database.execute(sql: "ALTER TABLE user ADD COLUMN emailAddress TEXT")
        }
        migrator.registerMigration("secrets") { database in
            try database.execute(
                sql: "CREATE TABLE secret (name TEXT NOT NULL PRIMARY KEY, value BLOB NOT NULL) STRICT, WITHOUT ROWID")
        }
        migrator.registerMigration("apiTokens") { database in
            // Origins are separated by line feeds. All times below are in milliseconds since 1970.
            try database.execute(
                sql: """
                    CREATE TABLE apiToken (
                        id TEXT NOT NULL PRIMARY KEY,
                        secretHash BLOB NOT NULL UNIQUE,
                        name TEXT NOT NULL,
                        container TEXT NOT NULL,
                        environment TEXT NOT NULL,
                        allowedOrigins TEXT NOT NULL,
                        callback TEXT,
                        made INTEGER NOT NULL,
                        lastUsed INTEGER,
                        revoked INTEGER
                    ) STRICT, WITHOUT ROWID
                    """)
        }
        migrator.registerMigration("serverKeys") { database in
            try database.execute(
                sql: """
                    CREATE TABLE serverKey (
                        keyID TEXT NOT NULL PRIMARY KEY,
                        name TEXT NOT NULL,
                        container TEXT NOT NULL,
                        environment TEXT NOT NULL,
                        publicKeyPEM TEXT NOT NULL,
                        userRecordName TEXT NOT NULL,
                        made INTEGER NOT NULL,
                        lastUsed INTEGER,
                        revoked INTEGER
                    ) STRICT, WITHOUT ROWID
                    """)
        }
        migrator.registerMigration("webAuthSessions") { database in
            // newestIssue and newestUse: issue time and first use of the newest token used so far.
            try database.execute(
                sql: """
                    CREATE TABLE webAuthSession (
                        id TEXT NOT NULL PRIMARY KEY,
                        user TEXT NOT NULL,
                        container TEXT NOT NULL,
                        environment TEXT NOT NULL,
                        apiTokenID TEXT,
                        keepsSignedIn INTEGER NOT NULL,
                        made INTEGER NOT NULL,
                        lastUsed INTEGER,
                        revoked INTEGER,
                        newestIssue INTEGER,
                        newestUse INTEGER
                    ) STRICT, WITHOUT ROWID
                    """)
        }
        migrator.registerMigration("administrator") { database in
            try database.execute(
                sql: """
                    CREATE TABLE administrator (
                        number INTEGER NOT NULL PRIMARY KEY CHECK (number = 1),
                        salt BLOB NOT NULL,
                        hash BLOB NOT NULL,
                        rounds INTEGER NOT NULL,
                        blockSize INTEGER NOT NULL,
                        parallelism INTEGER NOT NULL
                    ) STRICT
                    """)
        }
        migrator.registerMigration("makersOfUsers") { database in
            // maker: 'server', 'stranger', or the id of the API token used for the sign-in.
            try database.execute(
                sql: """
                    ALTER TABLE user ADD COLUMN made INTEGER;
                    ALTER TABLE user ADD COLUMN maker TEXT NOT NULL DEFAULT 'server';
                    ALTER TABLE user ADD COLUMN lastSeen INTEGER;
                    CREATE TABLE removedUser (userRecordName TEXT NOT NULL PRIMARY KEY) STRICT, WITHOUT ROWID
                    """)
        }
        migrator.registerMigration("connections") { database in
            // keyID and privateKey, or apiToken and webAuthToken. The address is NULL for iCloud's own.
            try database.execute(
                sql: """
                    CREATE TABLE connection (
                        container TEXT NOT NULL,
                        environment TEXT NOT NULL,
                        id TEXT NOT NULL UNIQUE,
                        address TEXT,
                        origin TEXT,
                        keyID TEXT,
                        privateKey TEXT,
                        apiToken TEXT,
                        webAuthToken TEXT,
                        userRecordName TEXT,
                        isWritable INTEGER NOT NULL,
                        made INTEGER NOT NULL,
                        PRIMARY KEY (container, environment)
                    ) STRICT, WITHOUT ROWID
                    """)
        }
        migrator.registerMigration("notificationTokens") { database in
            // told: the position up to which the device has been notified of all changes.
            try database.execute(
                sql: """
                    CREATE TABLE notificationToken (
                        id TEXT NOT NULL,
                        container TEXT NOT NULL,
                        environment TEXT NOT NULL,
                        number INTEGER NOT NULL,
                        user TEXT NOT NULL,
                        clientID TEXT,
                        expires INTEGER NOT NULL,
                        told INTEGER NOT NULL,
                        PRIMARY KEY (id, container, environment)
                    ) STRICT, WITHOUT ROWID
                    """)
        }
        migrator.registerMigration("titleFields") { database in
            try database.execute(
                sql: """
                    CREATE TABLE titleField (
                        container TEXT NOT NULL,
                        recordType TEXT NOT NULL,
                        field TEXT NOT NULL,
                        PRIMARY KEY (container, recordType)
                    ) STRICT, WITHOUT ROWID
                    """)
        }
        return migrator
    }
}

// MARK: - Errors

/// The accounts file can't be opened or read. The server does not start without it, because it could not authenticate
/// anyone.
public struct UnreadableAccounts: LocalizedError, CustomStringConvertible {
    /// The problem and the remedy, without any values.
    public let description: String
    public var errorDescription: String? { description }

    init(_ error: any Error) {
        if error is NewerAccounts {
            description = "accounts.sqlite was written by a newer version of Skylight; use that version"
            return
        }
        let problem =
            switch error {
            case let error as DatabaseError:
                "\(error.message ?? "an error of the database"), \(error.extendedResultCode)"
            case let error as DamagedAccount: error.description
            case is RowDecodingError: "a value has the wrong type for its column"
            default: error.localizedDescription
            }
        description =
            "accounts.sqlite can't be read (\(problem)). Restore a backup, or move the file away: the server then starts without users, keys and tokens"
    }
}

/// The file has tables that this version does not know, and whose meaning it could lose.
struct NewerAccounts: Error {}

/// A NULL or a value of the wrong type. GRDB's `row["column"]` would trap on it.
struct DamagedAccount: Error, CustomStringConvertible {
    let description: String
}

extension Row {
    /// Decodes a column.
    /// - Throws: ``DamagedAccount``.
    func value<Value: DatabaseValueConvertible>(_ column: String) throws -> Value {
        guard hasColumn(column) else { throw DamagedAccount(description: "the column '\(column)' is missing") }
        let stored: DatabaseValue = self[column]
        guard let value = Value.fromDatabaseValue(stored) else {
            throw DamagedAccount(
                description:
                    "the column '\(column)' holds \(stored.isNull ? "NULL" : "another kind of value than it should")")
        }
        return value
    }
}
