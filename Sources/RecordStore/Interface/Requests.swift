public import Records

/// A batch of saves and deletions.
public struct ModifyRequest: Sendable {
    public var operations: [RecordOperation]
    /// The zone for operations that name none.
    public var zoneID: ZoneID
    /// True to apply all operations or none. Effective only in custom zones, as in CloudKit.
    public var atomic: Bool
    /// UUID of the request, for the journal; `nil` if unknown.
    public var requestID: String?

    public init(
        _ operations: [RecordOperation], zoneID: ZoneID = .default, atomic: Bool = true, requestID: String? = nil
    ) {
        self.operations = operations
        self.zoneID = zoneID
        self.atomic = atomic
        self.requestID = requestID
    }
}

/// The result of a successful operation.
public enum ModifyOutcome: Sendable, Hashable {
    case saved(StoredRecord)
    case deleted(RecordID)
}

// MARK: - Queries

/// A query, the area to search and the requested page.
public struct QueryRequest: Sendable {
    public enum Area: Sendable, Hashable {
        case zone(ZoneID)
        /// All zones of the database.
        case allZones
    }

    public var query: Query
    public var area: Area
    public var limit: PageLimit
    /// The marker of the previous page.
    public var continuationMarker: String?
    /// The fields to return; `nil` for all, empty for system fields only.
    public var desiredKeys: Set<Name>?

    public init(
        _ query: Query, in area: Area = .zone(.default), limit: PageLimit = PageLimit(records: 200),
        continuationMarker: String? = nil,
        desiredKeys: Set<Name>? = nil
    ) {
        self.query = query
        self.area = area
        self.limit = limit
        self.continuationMarker = continuationMarker
        self.desiredKeys = desiredKeys
    }
}

/// A page of records in the total order of the query: its sorts, then the record name.
public struct QueryPage: Sendable {
    public var records: [StoredRecord]
    /// The marker for the next page; `nil` if no records are left.
    public var continuationMarker: String?
    /// How the query was answered; `nil` if the engine does not report it.
    public var plan: QueryPlanChoice?
    /// What is not known of an earlier state; in the first page of a query.
    public var notKnown: NotKnown

    public init(
        records: [StoredRecord], continuationMarker: String?, plan: QueryPlanChoice? = nil,
        notKnown: NotKnown = NotKnown()
    ) {
        self.records = records
        self.continuationMarker = continuationMarker
        self.plan = plan
        self.notKnown = notKnown
    }
}

// MARK: - Lists

/// Selects a page of a zone's records.
public struct RecordListRequest: Sendable {
    public var zoneID: ZoneID
    /// `last` of the previous page; `nil` starts at the first name.
    public var after: Name?
    /// The types to list; `nil` for all.
    public var recordTypes: Set<Name>?
    public var limit: PageLimit

    public init(
        _ zoneID: ZoneID, after: Name? = nil, recordTypes: Set<Name>? = nil, limit: PageLimit = PageLimit(records: 200)
    ) {
        self.zoneID = zoneID
        self.after = after
        self.recordTypes = recordTypes
        self.limit = limit
    }
}

/// A page of a zone's records, in the order of their names.
public struct RecordListPage: Sendable {
    /// Can be empty although more pages follow, if the requested types are rare.
    public var records: [StoredRecord]
    /// `after` of the request for the next page; `nil` if no records are left.
    public var last: Name?
    /// The records up to ``last`` whose earlier state is not known.
    public var notKnown: NotKnown

    public init(records: [StoredRecord], last: Name?, notKnown: NotKnown = NotKnown()) {
        self.records = records
        self.last = last
        self.notKnown = notKnown
    }
}

/// A reference as seen from its target.
public struct Referrer: Sendable, Hashable {
    public var recordName: Name
    public var recordType: Name
    /// The field with the reference; `___parent` if the target is the record's parent.
    public var fieldName: Name
    public var action: Reference.Action

    public init(recordName: Name, recordType: Name, fieldName: Name, action: Reference.Action) {
        self.recordName = recordName
        self.recordType = recordType
        self.fieldName = fieldName
        self.action = action
    }
}

extension Referrer: JSONObjectCoded {
    package static let form = JSONForm(
        Referrer.init(recordName:recordType:fieldName:action:), JSONPart("recordName", \.recordName),
        JSONPart("recordType", \.recordType), JSONPart("fieldName", \.fieldName), JSONPart("action", \.action))
}

// MARK: - Pages

/// Maximum size of a page. A page has at least one record, whatever its size.
public struct PageLimit: Sendable, Hashable {
    public var records: Int
    /// Maximum total size of fields in bytes, since 200 large records could be huge.
    public var bytes: Int

    public init(records: Int, bytes: Int = 8 << 20) {
        self.records = max(1, records)
        self.bytes = bytes
    }
}

/// Tracks the contents of a page until it is full.
public struct PageFill: Sendable {
    private let limit: PageLimit
    private var records = 0
    private var bytes = 0

    public init(_ limit: PageLimit) {
        self.limit = limit
    }

    /// Adds a record to the page if it fits.
    /// - Returns: `false` if the page is full.
    public mutating func admits(_ record: StoredRecord) -> Bool {
        admits(bytes: record.fields.bytes.count)
    }

    /// Like ``admits(_:)`` for a record with fields of this size.
    public mutating func admits(bytes size: Int) -> Bool {
        guard records == 0 || records < limit.records && bytes + size <= limit.bytes else { return false }
        records += 1
        bytes += size
        return true
    }
}

extension StoredRecord {
    /// The record with only the given fields; `nil` keeps all.
    /// - Throws: `RecordError` INTERNAL_ERROR if the stored fields are damaged.
    public func keeping(_ desiredKeys: Set<Name>?) throws -> StoredRecord {
        guard let desiredKeys else { return self }
        var record = self
        record.fields = try fields.keeping(desiredKeys)
        return record
    }
}
