public import JSON
public import Records
public import RecordStore

/// The result of a pull.
public struct PullReport: Sendable, Hashable {
    public var outcome = MirrorOutcome()
    /// The rest of the origin is in the mirror.
    public var problems: [MirrorProblem] = []

    public init() {}

    mutating func add(_ other: MirrorOutcome) {
        outcome.saved += other.saved
        outcome.deleted += other.deleted
        outcome.unchanged += other.unchanged
        outcome.sent += other.sent
        outcome.conflicts += other.conflicts
        outcome.encryptedInPublic += other.encryptedInPublic
    }
}

/// A part of the origin that the mirror lacks, and the way to get it.
public enum MirrorProblem: Sendable, Hashable, CustomStringConvertible {
    /// A zone or database that failed. The next pull tries again.
    case failed(DatabaseScope, ZoneID?, reason: String)
    /// A zone that was deleted in the origin, and stays in the mirror because of edits that were not sent.
    case zoneGone(DatabaseScope, ZoneID, edits: Int)
    /// A record that could not be read.
    case record(RecordID, reason: String)
    /// A file that the origin does not give, or that is too large. Its record is there without it.
    case file(Name, of: RecordID, reason: String)
    /// Fields whose values are of a kind that is not known here.
    case fields(Set<Name>, of: Name)
    /// A type of the public database that lacks indexes.
    case missingIndexes(type: Name, purpose: String, indexes: [String], reason: String)
    /// A type of the public database that there is not.
    case unknownType(Name)

    public var description: String {
        switch self {
        case .failed(let scope, let zoneID, let reason):
            "\(zoneID.map { "The zone '\($0.zoneName)' of the" } ?? "The") \(scope.rawValue) database was not read to its end: \(reason). The next pull goes on"
        case .zoneGone(let scope, let zoneID, let edits):
            "The zone '\(zoneID.zoneName)' of the \(scope.rawValue) database was deleted in the origin, and has \(edits) unsent edit\(edits == 1 ? "" : "s") here. "
                + "Delete the zone here to give them up"
        case .record(let recordID, let reason): "The record '\(recordID.recordName)' in '\(recordID.zoneID.zoneName)' is missing: \(reason)"
        case .file(let field, let recordID, let reason): "The file in the field '\(field)' of the record '\(recordID.recordName)' is missing: \(reason)"
        case .fields(let names, let type):
            "The mirror lacks the field\(names.count == 1 ? "" : "s") \(names.sorted().map(\.string).joined(separator: ", ")) of records of type \(type): "
                + "the values are of a kind that Skylight does not know"
        case .missingIndexes(let type, let purpose, let indexes, let reason):
            "The type \(type) lacks indexes for \(purpose) (\(reason)). Add to its schema: \(indexes.joined(separator: ", "))"
        case .unknownType(let type): "The public database has no type \(type)"
        }
    }
}

/// The result of a push.
public struct PushReport: Sendable, Hashable {
    /// An edit as it would be sent.
    public struct Item: Sendable, Hashable {
        public enum Act: String, Sendable, Hashable {
            case create
            case update
            case delete
        }

        public var scope: DatabaseScope
        public var recordID: RecordID
        public var act: Act
        /// The fields that are set or cleared.
        public var fields: Set<Name>
        /// The change tag that the edit was made on.
        public var base: String?
    }

    /// The edits that the origin now has or, in a dry run, would get; in the order of sending.
    public var items: [Item] = []
    /// Edits that wait for a settlement, from before or found now.
    public var conflicts: [UnsentEdit] = []
    /// Edits that the origin refused. They stay unsent.
    public var refused: [RecordID: String] = [:]

    public init() {}
}
