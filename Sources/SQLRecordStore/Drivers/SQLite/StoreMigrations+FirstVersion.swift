extension StoreMigrations {
    /// The tables of the first version.
    static let firstVersion = """
        -- Facts about the file: the secret key of its tokens, the version of its schema.
        CREATE TABLE facts (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;

        -- Epochs: each opening for writing, with the positions committed in it. The table keeps their older name.
        CREATE TABLE incarnations (id INTEGER PRIMARY KEY, number INTEGER NOT NULL, after INTEGER NOT NULL, through INTEGER);

        CREATE TABLE users (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

        CREATE TABLE zones (
            number INTEGER PRIMARY KEY,
            owner INTEGER NOT NULL,             -- a user's number; 0 in the public database
            name TEXT NOT NULL,
            position INTEGER NOT NULL,          -- of the latest change
            moment INTEGER NOT NULL,            -- of the latest change, ms since 1970
            floor INTEGER NOT NULL DEFAULT 0,   -- deletions up to here were purged
            state INTEGER NOT NULL DEFAULT 0,   -- 0 lives, 1 deleted, 2 purged
            swept INTEGER NOT NULL DEFAULT 0    -- whether the rows of a zone that ended are gone
        );
        CREATE UNIQUE INDEX living_zones ON zones (owner, name) WHERE state = 0;
        CREATE INDEX changed_zones ON zones (owner, position);
        CREATE INDEX zone_names ON zones (owner, name);
        CREATE INDEX unswept_zones ON zones (number) WHERE state <> 0 AND swept = 0;

        -- Zones shown to other users.
        CREATE TABLE shares (
            zone INTEGER NOT NULL,
            user INTEGER NOT NULL,
            permission TEXT NOT NULL,
            live INTEGER NOT NULL,
            position INTEGER NOT NULL,
            moment INTEGER NOT NULL,
            PRIMARY KEY (user, zone)
        ) WITHOUT ROWID;

        CREATE TABLE roles (name TEXT PRIMARY KEY) WITHOUT ROWID;
        CREATE TABLE types (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, grants TEXT NOT NULL);
        CREATE TABLE fields (
            number INTEGER PRIMARY KEY,
            type INTEGER NOT NULL,
            name TEXT NOT NULL,                 -- system fields under their ___ names
            declaration TEXT NOT NULL,          -- the type as requests name it
            indexes INTEGER NOT NULL,           -- 1 QUERYABLE, 2 SORTABLE, 4 SEARCHABLE
            UNIQUE (type, name)
        );

        -- Records and deletions in the order of their latest change: this table is the change feed.
        CREATE TABLE records (
            id INTEGER PRIMARY KEY,             -- zone << 40 | position of the latest change
            zone INTEGER NOT NULL,
            name TEXT NOT NULL,
            type INTEGER NOT NULL,
            born INTEGER NOT NULL,              -- position at which the record was created
            state INTEGER NOT NULL,             -- 1 deleted, 2 a record of the name was deleted before
            createdAt INTEGER NOT NULL,
            createdBy TEXT NOT NULL,
            createdOn TEXT NOT NULL,
            modifiedAt INTEGER NOT NULL,
            modifiedBy TEXT NOT NULL,
            modifiedOn TEXT NOT NULL,
            parent TEXT,
            fields BLOB                         -- JSON text as answers carry it; NULL in a deletion
        );
        CREATE UNIQUE INDEX record_names ON records (zone, name);

        -- The index entries behind QUERYABLE and SORTABLE, and the membership of a type (value 0 of its ___recordID).
        CREATE TABLE entries (
            field INTEGER NOT NULL,
            zone INTEGER NOT NULL,
            value NOT NULL,                     -- strings as bytes; -Infinity stands for no value
            name TEXT NOT NULL,
            PRIMARY KEY (field, zone, value, name)
        ) WITHOUT ROWID;

        -- The words behind SEARCHABLE.
        CREATE TABLE tokens (
            field INTEGER NOT NULL,
            zone INTEGER NOT NULL,
            token TEXT NOT NULL,
            name TEXT NOT NULL,
            PRIMARY KEY (field, zone, token, name)
        ) WITHOUT ROWID;

        -- Which record points at which within a zone, parents included.
        CREATE TABLE links (
            zone INTEGER NOT NULL,
            target TEXT NOT NULL,
            source TEXT NOT NULL,
            field TEXT NOT NULL,
            action TEXT NOT NULL,
            PRIMARY KEY (zone, target, source, field, action)
        ) WITHOUT ROWID;
        CREATE INDEX dependent_links ON links (zone, target) WHERE action <> 'NONE';

        -- Kept counts. Type 0 counts deletions.
        CREATE TABLE typeCounts (
            zone INTEGER NOT NULL, type INTEGER NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (zone, type)
        ) WITHOUT ROWID;
        -- Latest changes by bucket of 1,024 positions: how many lie after a token.
        CREATE TABLE changeCounts (
            zone INTEGER NOT NULL, bucket INTEGER NOT NULL, count INTEGER NOT NULL, PRIMARY KEY (zone, bucket)
        ) WITHOUT ROWID;
        """
}
