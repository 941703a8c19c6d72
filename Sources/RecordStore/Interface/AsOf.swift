public import Records

/// A point in the history of a database (docs/as-of.md).
public enum AsOf: Sendable, Hashable {
    /// After the change at a position.
    case position(Int64)
    /// What a client with this token has seen.
    case token(ChangeToken)
    /// After the latest change up to a time, by the dates of the changes.
    case time(Timestamp)

    /// Reads a position, a date and time such as `2026-11-29T18:00:00Z`, or a token.
    /// - Returns: `nil` for an empty text.
    public init?(_ text: String) {
        if text.isEmpty { return nil }
        if text.utf8.count < 16, let position = Int64(text), position >= 0 {
            self = .position(position)
        } else if let time = DateText.timestamp(of: text) {
            self = .time(time)
        } else {
            self = .token(ChangeToken(text: text))
        }
    }
}

extension AsOf: JSONCodedAs {
    package static var shape: JSONShape { .string("a position, a change token, or a date and time") }
    package init?(coded: String) { self.init(coded) }
    package var coded: String {
        switch self {
        case .position(let position): String(position)
        case .token(let token): token.text
        case .time(let time): UTCTime(milliseconds: time.milliseconds).isoTextWithMilliseconds
        }
    }
}

/// Reads earlier states of a database.
public protocol EarlierReading: Sendable {
    /// The database as it was at a point: its queries, fetches, lists and counts answer as they did when the change at
    /// the point was the latest. Schema, indexes, rights, zones and shares are those of now.
    ///
    /// Where the journal no longer reaches, the answers name the records whose state is not known.
    /// - Throws: `RecordError` BAD_REQUEST if the point is later than the latest change, or the token has expired,
    ///   belongs to another database, or is from an unfinished pull.
    func database(asOf point: AsOf) async throws -> any EarlierDatabase
}

extension Capability where Part == any EarlierReading {
    public static var readEarlierStates: Self { Self("show an earlier state of its records") }
}

/// A database as it was at a position, in front of the present one. It can only be read.
public protocol EarlierDatabase: ForwardingDatabase, RecordListing {
    var position: Int64 { get }
}

extension EarlierDatabase {
    /// Its records, their counts and the present schema.
    public func part<Part>(_ capability: Capability<Part>) -> Part? {
        Part.self == (any SchemaReading).self ? base.part(capability) : self as? Part
    }

    private var refusal: RecordError { unable(to: "change an earlier state, or report changes up to it") }

    public func modify(_ request: ModifyRequest) async throws -> [Result<ModifyOutcome, RecordError>] { throw refusal }
    public func modifyZones(_ operations: [ZoneOperation]) async throws -> [Result<Zone, RecordError>] {
        throw refusal
    }
    public func databaseChanges(_ request: DatabaseChangesRequest) async throws -> DatabaseChangesPage {
        throw refusal
    }
    public func zoneChanges(_ request: ZoneChangesRequest) async throws -> ZoneChangesPage { throw refusal }
}

/// What an answer about an earlier state lacks, because it is no longer kept.
public struct NotKnown: Sendable, Hashable {
    /// Maximum number of names.
    public static let nameLimit = 200

    /// The records whose state is not known, in the order of their latest changes; the first ones, if there are many.
    public private(set) var records: [RecordID]
    /// The number of these records.
    public private(set) var count: Int
    /// The zones whose state is not known: they were deleted since, or their earlier deletions were removed.
    public var zones: [ZoneID]

    public init(records: [RecordID] = [], count: Int = 0, zones: [ZoneID] = []) {
        (self.records, self.count, self.zones) = (records, count, zones)
    }

    public var isEmpty: Bool { count == 0 && zones.isEmpty }

    public mutating func add(_ recordID: RecordID) {
        count += 1
        if records.count < Self.nameLimit { records.append(recordID) }
    }

    public static func += (total: inout NotKnown, more: NotKnown) {
        total.count += more.count
        total.records += more.records.prefix(max(0, nameLimit - total.records.count))
        total.zones += more.zones
    }
}

extension NotKnown: JSONObjectCoded {
    package static let form = JSONForm(
        NotKnown.init(records:count:zones:), JSONPart("records", \.records), JSONPart("count", \.count),
        JSONPart("zones", \.zones))
}
