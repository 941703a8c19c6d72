internal import GRDB
internal import Records
internal import Synchronization

/// The schema as the latest commit left it: who reads takes it from here, and reads it from the file only when it stands on another commit.
final class LatestCatalog: Sendable {
    private let latest: Mutex<SchemaCatalog>

    init(_ catalog: SchemaCatalog) {
        latest = Mutex(catalog)
    }

    /// Good for a guess, since it may be another by the time that it is used.
    var schema: Schema { latest.withLock { $0.schema } }

    /// Takes over what was committed, unless something later was.
    func take(_ catalog: SchemaCatalog) {
        latest.withLock { if $0.version < catalog.version { $0 = catalog } }
    }

    /// The schema of a snapshot.
    func catalog(of db: Database) throws -> SchemaCatalog {
        let version = try SchemaCatalog.version(in: db)
        let held = latest.withLock { $0 }
        if held.version == version { return held }
        var read = try SchemaCatalog(db)
        read.indexLimits = held.indexLimits
        take(read)
        return read
    }
}
