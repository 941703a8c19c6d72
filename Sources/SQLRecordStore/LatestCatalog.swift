internal import Records
internal import Synchronization

/// The schema after the latest commit. Readers use it, and read the schema from the file only if their snapshot has
/// another version.
final class LatestCatalog: Sendable {
    private let latest: Mutex<SchemaCatalog>

    init(_ catalog: SchemaCatalog) {
        latest = Mutex(catalog)
    }

    /// May be outdated when it is used. Use it only as a hint.
    var schema: Schema { latest.withLock { $0.schema } }

    /// Stores the schema of a commit, unless a newer one is stored already.
    func take(_ catalog: SchemaCatalog) {
        latest.withLock { if $0.version < catalog.version { $0 = catalog } }
    }

    /// The schema of the snapshot that `db` reads.
    func catalog(of db: SQLConnection) throws -> SchemaCatalog {
        let version = try SchemaCatalog.version(in: db)
        let held = latest.withLock { $0 }
        if held.version == version { return held }
        var read = try SchemaCatalog(db)
        read.indexLimits = held.indexLimits
        take(read)
        return read
    }
}
