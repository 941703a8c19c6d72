public import JSON
public import Records

/// The extent of a mirror.
public struct MirrorOptions: Sendable {
    /// The treatment of asset files.
    public enum Files: String, Sendable, Hashable, CaseIterable {
        /// Each file is fetched with its record.
        case all
        /// Files are never fetched. Records show their sizes and the origin's checksums.
        case none
        /// Like ``none``, but ``ContainerMirror/fetchFiles(of:)`` fetches those of one record.
        case onDemand = "on-demand"
    }

    /// The databases. A server-to-server key reaches the public one only, a web auth token all of them.
    public var scopes: Set<DatabaseScope>
    public var files = Files.onDemand
    /// The origin's schema, if there is a file of it. Its types are added to the mirror's schema.
    public var schema: Schema?
    /// Types of the public database, beside those of ``schema`` and those that the mirror knows already. CloudKit does not list them.
    public var publicTypes: Set<Name> = []
    /// Records per request, at most 200.
    public var pageSize = 200
    /// The time for a request with its repetitions and the pauses that CloudKit asks for. Nobody waits for a page.
    public var patience: Duration = .seconds(600)
    /// The time before the latest known change from which the public database is read again. Its indexes lag behind some seconds.
    public var overlap: Duration = .seconds(120)
    /// The time between two comparisons of all names of the public database, which find deletions.
    public var sweepInterval: Duration = .seconds(3600)

    public init(scopes: Set<DatabaseScope> = Set(DatabaseScope.allCases)) {
        self.scopes = scopes
    }
}
