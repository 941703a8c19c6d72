internal import GRDB

/// The tables of a store and their migrations. See docs/storage.md for the layout.
enum StoreMigrations {
    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { db in
            try db.execute(sql: firstVersion)
        }
        migrator.registerMigration("2") { db in
            try db.execute(sql: secondVersion)
        }
        migrator.registerMigration("3") { db in
            try db.execute(sql: thirdVersion)
        }
        migrator.registerMigration("4") { db in
            try db.execute(sql: fourthVersion)
        }
        migrator.registerMigration("5") { db in
            try db.execute(sql: fifthVersion)
        }
        migrator.registerMigration("6") { db in
            try db.execute(sql: sixthVersion)
            try countBytes(db)
        }
        migrator.registerMigration("7") { db in
            try db.execute(sql: seventhVersion)
        }
        migrator.registerMigration("8") { db in
            try db.execute(sql: eighthVersion)
        }
        migrator.registerMigration("9") { db in
            try db.execute(sql: ninthVersion)
        }
        migrator.registerMigration("10") { db in
            try db.execute(sql: tenthVersion)
        }
        migrator.registerMigration("11") { db in
            try db.execute(sql: eleventhVersion)
        }
        migrator.registerMigration("12") { db in
            try db.execute(sql: twelfthVersion)
        }
        migrator.registerMigration("13") { db in
            try db.execute(sql: thirteenthVersion)
        }
        migrator.registerMigration("14") { db in
            try db.execute(sql: fourteenthVersion)
        }
        migrator.registerMigration("15") { db in
            try db.execute(sql: fifteenthVersion)
        }
        migrator.registerMigration("16") { db in
            try cutWords(db)
        }
        migrator.registerMigration("17") { db in
            try db.execute(sql: seventeenthVersion)
        }
        migrator.registerMigration("18") { db in
            try db.execute(sql: eighteenthVersion)
        }
        return migrator
    }

    /// The version of the tables: each migration makes a new one. A store in PostgreSQL notes it.
    static var version: Int64 { Int64(migrator.migrations.count) }

    private static let eighteenthVersion = """
        -- Of a deletion: who created the deleted record, and when. Its name may have another record since.
        ALTER TABLE journal ADD COLUMN createdAt INTEGER;
        ALTER TABLE journal ADD COLUMN createdBy TEXT;
        ALTER TABLE journal ADD COLUMN createdOn TEXT;
        """

    private static let seventeenthVersion = """
        -- Failures of a build, for processes that wait for it while another one builds.
        ALTER TABLE indexWork ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE indexWork ADD COLUMN failureCode TEXT;
        ALTER TABLE indexWork ADD COLUMN failure TEXT;
        """

    private static let fifteenthVersion = """
        -- Its condition is one in every database.
        DROP INDEX deletions;
        CREATE INDEX deletions ON records (zone) WHERE state & 1 = 1;
        """

    private static let fourteenthVersion = """
        -- Keys of the users' key-value stores. Removed ones stay for clients that have not heard of it.
        CREATE TABLE keyValues (
            owner INTEGER NOT NULL,             -- a user's number
            key TEXT NOT NULL,
            position INTEGER NOT NULL,          -- of the latest change
            moment INTEGER NOT NULL,            -- of the latest change, ms since 1970
            size INTEGER,                       -- bytes that count; NULL for a removed key
            value BLOB,                         -- JSON as in answers; NULL for a removed key
            PRIMARY KEY (owner, key)
        );
        CREATE INDEX changed_key_values ON keyValues (owner, position);
        -- Removals of keys up to this position were forgotten.
        ALTER TABLE users ADD COLUMN keyValueFloor INTEGER NOT NULL DEFAULT 0;
        """

    private static let thirteenthVersion = """
        CREATE TABLE subscriptions (
            user INTEGER NOT NULL,              -- number of the subscriber
            scope TEXT NOT NULL,                -- of the database
            id TEXT NOT NULL,
            zone INTEGER,                       -- the zone with which it ends
            position INTEGER NOT NULL,          -- the last one before it: it is about later changes
            isHeldToRoles INTEGER NOT NULL,     -- 1 if roles limit what the subscriber may read
            content BLOB NOT NULL,              -- JSON as in answers
            firedAt INTEGER,                    -- position of the change that ended it, if it fires once
            firedMoment INTEGER,
            PRIMARY KEY (user, scope, id)
        ) WITHOUT ROWID;
        CREATE INDEX zone_subscriptions ON subscriptions (zone) WHERE zone IS NOT NULL;
        CREATE INDEX fired_subscriptions ON subscriptions (firedMoment) WHERE firedMoment IS NOT NULL;
        """

    private static let twelfthVersion = """
        -- Children of records: a popular target has far more links of other kinds.
        CREATE INDEX child_links ON links (zone, target, source) WHERE field = '___parent';
        """

    private static let eleventhVersion = """
        -- The view of a guest: a zone with copies of the records that the zone `base` shares with the guest, and nothing else. Its owner is
        -- -base, its name that of the guest.
        ALTER TABLE zones ADD COLUMN base INTEGER;
        CREATE INDEX zone_views ON zones (base) WHERE base IS NOT NULL;
        -- Through which share guests see the record; NULL for none.
        ALTER TABLE records ADD COLUMN hierarchy INTEGER;
        -- JSON: the top level of a share, or of a root the name of its share and the identifier in the link.
        ALTER TABLE records ADD COLUMN sharing BLOB;

        -- Shares. Their numbers are never used again, so that records of one that has ended need not be touched.
        CREATE TABLE hierarchies (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            zone INTEGER NOT NULL,
            root TEXT,                          -- NULL if the whole zone is shared
            share TEXT NOT NULL,
            shortGUID TEXT NOT NULL,
            live INTEGER NOT NULL DEFAULT 1
        );
        CREATE INDEX zone_hierarchies ON hierarchies (zone, live);
        CREATE UNIQUE INDEX living_links ON hierarchies (shortGUID) WHERE live = 1;

        -- Users who accepted a share of a hierarchy. Their views are in shares, as zones that are shared as a whole are.
        CREATE TABLE hierarchyGuests (
            user INTEGER NOT NULL, hierarchy INTEGER NOT NULL, permission TEXT NOT NULL, PRIMARY KEY (user, hierarchy)
        ) WITHOUT ROWID;
        CREATE INDEX hierarchy_guests ON hierarchyGuests (hierarchy, user);

        -- Records whose children are still to follow them into another hierarchy, or into or out of a view. The last one is next.
        CREATE TABLE hierarchyWalks (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            zone INTEGER NOT NULL,
            name TEXT NOT NULL,
            top TEXT NOT NULL,                  -- the record that the walk began at
            after TEXT,                         -- the last child that followed
            view INTEGER,                       -- NULL for a change of hierarchy
            hides INTEGER NOT NULL,             -- whether views may show records that they must not
            moment INTEGER NOT NULL,            -- of the change
            user TEXT NOT NULL,
            device TEXT NOT NULL
        );
        CREATE INDEX hiding_walks ON hierarchyWalks (zone) WHERE hides = 1;
        """

    private static let tenthVersion = """
        -- Zones that mirror those of another container, the origin.
        ALTER TABLE zones ADD COLUMN isMirror INTEGER NOT NULL DEFAULT 0;
        -- The origin's change tag; NULL for a version that was saved here.
        ALTER TABLE records ADD COLUMN tag TEXT;
        ALTER TABLE journal ADD COLUMN tag TEXT;

        -- Records of mirrors that were saved or deleted here, until the origin has the change. Versions are JSON, {} for a deletion.
        CREATE TABLE unsentEdits (
            zone INTEGER NOT NULL,
            name TEXT NOT NULL,
            since INTEGER NOT NULL,             -- position of the first change
            base BLOB,                          -- the origin's version that was changed; NULL for a record that was created here
            sent BLOB,                          -- the version that was sent last
            theirs BLOB,                        -- a later version of the origin
            PRIMARY KEY (zone, name)
        ) WITHOUT ROWID;
        CREATE INDEX ordered_edits ON unsentEdits (since);

        -- Notes of the mirroring, such as the origin's change tokens, by the user's number.
        CREATE TABLE mirrorMarks (owner INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (owner, name)) WITHOUT ROWID;

        -- Names that the origin still has, while all of them are compared.
        CREATE TABLE sightings (zone INTEGER NOT NULL, name TEXT NOT NULL, PRIMARY KEY (zone, name)) WITHOUT ROWID;
        """

    private static let ninthVersion = """
        -- Records that wait until those that refer to them with VALIDATE have fallen have rows of their own in cascades, under their own names.
        -- Until now their targets were taken up again, and are once more.
        UPDATE cascades SET pass = 0 WHERE pass > 0;
        CREATE INDEX held_cascades ON cascades (zone, name) WHERE pass > 0;
        """

    private static let eighthVersion = """
        -- Indexes of fields and types that were removed, as long as they have rows.
        CREATE TABLE retiredIndexes (
            kind INTEGER NOT NULL,              -- as in indexWork
            number INTEGER NOT NULL,
            PRIMARY KEY (kind, number)
        ) WITHOUT ROWID;
        """

    private static let seventhVersion = """
        -- Records that were deleted, and whose DELETE_SELF referrers are still to go with them.
        CREATE TABLE cascades (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            zone INTEGER NOT NULL,
            name TEXT NOT NULL,
            position INTEGER NOT NULL,          -- of the deletion: a record that was saved after it stays
            pass INTEGER NOT NULL,              -- 0 a target; 1 a record that is held, 2 one that rests (since version 9)
            modifiedAt INTEGER NOT NULL,        -- of the deletion that the cascade began with
            modifiedBy TEXT NOT NULL,
            modifiedOn TEXT NOT NULL,
            request                             -- as in records
        );
        CREATE INDEX next_cascades ON cascades (pass, id);

        -- How many records of a type there are, without a look at the others.
        CREATE INDEX counted_types ON typeCounts (type);
        """

    // MARK: SQL of versions 2 to 6

    private static let sixthVersion = """
        -- Bytes of the records' fields, and of the files that they refer to: a file counts for each field of a record.
        ALTER TABLE typeCounts ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE typeCounts ADD COLUMN assetBytes INTEGER NOT NULL DEFAULT 0;
        """

    private static let fifthVersion = """
        -- Which request made the latest change: the 16 bytes of a UUID, or text.
        ALTER TABLE records ADD COLUMN request;
        -- How many changes of the name there were.
        ALTER TABLE records ADD COLUMN version INTEGER NOT NULL DEFAULT 1;
        ALTER TABLE zones ADD COLUMN journalBytes INTEGER NOT NULL DEFAULT 0;

        -- Earlier states of records, in the order in which they were replaced. The state before a change is the row with the change's
        -- position for its id; that row's own position leads to the state before.
        CREATE TABLE journal (
            id INTEGER PRIMARY KEY,             -- position of the change that replaced this state
            zone INTEGER NOT NULL,
            position INTEGER NOT NULL,          -- of the change that made it
            born INTEGER NOT NULL,
            state INTEGER NOT NULL,
            type INTEGER NOT NULL,
            modifiedAt INTEGER NOT NULL,
            modifiedBy TEXT NOT NULL,
            modifiedOn TEXT NOT NULL,
            until INTEGER NOT NULL,             -- when it was replaced, ms since 1970
            request,
            parent TEXT,
            fields BLOB
        );
        """

    private static let fourthVersion = """
        -- Types that were removed keep their numbers, which their deletions carry.
        ALTER TABLE types ADD COLUMN removed INTEGER NOT NULL DEFAULT 0;

        -- Indexes of a filter on one field with order by another. Fields by their names in schema files.
        CREATE TABLE composites (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            type INTEGER NOT NULL,
            filter TEXT NOT NULL,
            sort TEXT NOT NULL,
            dropped INTEGER NOT NULL DEFAULT 0  -- whether it is only here until its entries are gone
        );

        -- Their entries, with values as in entries.
        CREATE TABLE compositeEntries (
            composite INTEGER NOT NULL,
            zone INTEGER NOT NULL,
            filter NOT NULL,
            sort NOT NULL,
            name TEXT NOT NULL,
            PRIMARY KEY (composite, zone, filter, sort, name)
        ) WITHOUT ROWID;

        -- Indexes that are being built, or whose rows are being removed.
        CREATE TABLE indexWork (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            type INTEGER NOT NULL,
            kind INTEGER NOT NULL,              -- 0 entries of a field, 1 words of a field, 2 a composite index
            number INTEGER NOT NULL,            -- of the field or composite index
            indexes INTEGER NOT NULL,           -- those of the field that were added or dropped, as in fields
            phase INTEGER NOT NULL,             -- 0 rows are removed, 1 the same before it is built, 2 it is built
            zone INTEGER NOT NULL,              -- the record up to which all are entered
            name TEXT NOT NULL,
            done INTEGER NOT NULL,              -- records entered or rows removed
            doneThere INTEGER NOT NULL,         -- the same when that record was reached
            total INTEGER NOT NULL              -- records at the beginning
        );
        -- Builds of indexes that earlier versions left halfway; such an index was not declared yet.
        INSERT INTO indexWork (type, kind, number, indexes, phase, zone, name, done, doneThere, total)
            SELECT type, 0, number, indexes >> 3 & 3, 0, -1, '', 0, 0, 0 FROM fields WHERE indexes >> 3 & 3 AND NOT indexes & 3
            UNION ALL SELECT type, 1, number, 4, 0, -1, '', 0, 0, 0 FROM fields WHERE indexes >> 3 & 4 AND NOT indexes & 4;
        UPDATE fields SET indexes = indexes & 7;

        -- The history of the schema: a line for each change.
        CREATE TABLE schemaHistory (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            moment INTEGER NOT NULL,            -- ms since 1970
            user TEXT NOT NULL,
            reason TEXT NOT NULL,
            changes TEXT NOT NULL
        );
        """

    private static let thirdVersion = """
        -- The files in the asset store that are safely there.
        CREATE TABLE assets (
            checksum BLOB PRIMARY KEY,          -- SHA-256
            size INTEGER NOT NULL,
            uses INTEGER NOT NULL,              -- rows in assetUses
            inUseUntil INTEGER NOT NULL         -- when the last use ended or, of an upload, will end; ms since 1970
        ) WITHOUT ROWID;
        CREATE INDEX unused_assets ON assets (checksum, inUseUntil) WHERE uses = 0;

        -- Which fields of records refer to which files.
        CREATE TABLE assetUses (
            zone INTEGER NOT NULL,
            name TEXT NOT NULL,
            field TEXT NOT NULL,
            checksum BLOB NOT NULL,
            PRIMARY KEY (zone, name, field, checksum)
        ) WITHOUT ROWID;
        CREATE INDEX asset_users ON assetUses (checksum);

        -- Uploads whose receipts were used, until no other receipt of theirs can be good.
        CREATE TABLE spentReceipts (number BLOB PRIMARY KEY, expires INTEGER NOT NULL) WITHOUT ROWID;
        CREATE INDEX old_receipts ON spentReceipts (expires);
        """

    private static let secondVersion = """
        -- The keys of tokens that were expired all at once.
        CREATE TABLE retiredTokenKeys (id INTEGER PRIMARY KEY, key BLOB NOT NULL);

        -- Deletions in the order of the feed, for removing old ones.
        CREATE INDEX deletions ON records (zone) WHERE state & 1;
        """
}

// MARK: - Migrations of rows

// Migrations that read rows.

extension StoreMigrations {
    /// Queries for counting the bytes of a large store. They read rows in file order. Sorting or grouping in SQL
    /// would load the fields into memory, whereas their lengths are in the row header.
    static let recordSizes = "SELECT zone, type, length(fields) AS bytes FROM records WHERE state & 1 = 0 ORDER BY id"
    static let assetSizes = """
        SELECT r.zone, r.type, a.size AS bytes FROM assetUses u
        CROSS JOIN records r ON r.zone = u.zone AND r.name = u.name CROSS JOIN assets a ON a.checksum = u.checksum
        """

    /// Truncates the words of earlier versions, which stored them whole.
    static func cutWords(_ db: Database) throws {
        let connection = SQLConnection(SQLiteDriver(db))
        let sql =
            "SELECT field, zone, token, name FROM tokens WHERE length(CAST(token AS BLOB)) > \(EntryValue.prefixLength)"
        for row in try SQLRow.fetchAll(connection, sql: sql) {
            let values = row.values(of: "tokens")
            let (field, zone, word, name): (Int64, Int64, String, String) = (
                try values("field"), try values("zone"), try values("token"), try values("name")
            )
            try connection.run(
                "DELETE FROM tokens WHERE field = ? AND zone = ? AND token = ? AND name = ?", [field, zone, word, name])
            try connection.run(
                "INSERT OR IGNORE INTO tokens (field, zone, token, name) VALUES (?, ?, ?, ?)",
                [field, zone, EntryValue.word(word), name])
        }
    }

    /// Computes the byte counts that version 6 adds.
    static func countBytes(_ db: Database) throws {
        for (column, sql) in [("bytes", recordSizes), ("assetBytes", assetSizes)] {
            // Keyed by zone, then by type.
            var sums: [Int64: [Int64: Int64]] = [:]
            try SQLRow.forEach(SQLConnection(SQLiteDriver(db)), sql: sql) { row in
                let values = row.values(of: "records")
                let (zone, type, bytes): (Int64, Int64, Int64?) = (
                    try values("zone"), try values("type"), try values("bytes")
                )
                sums[zone, default: [:]][type, default: 0] += bytes ?? 0
            }
            for (zone, types) in sums {
                for (type, bytes) in types {
                    try db.execute(
                        sql: "UPDATE typeCounts SET \(column) = ? WHERE zone = ? AND type = ?",
                        arguments: [bytes, zone, type])
                }
            }
        }
    }
}
