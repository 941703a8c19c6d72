/// A query for records of one type: filters that must all match, and sorts.
public struct Query: Sendable, Hashable {
    /// A condition on one field.
    public struct Filter: Sendable, Hashable {
        /// The kind of comparison. It also determines the index that the field needs.
        public var comparator: Comparator
        /// The field name in the request: a custom field or either name of a system field.
        public var fieldName: Name
        /// The value to compare with; for comparators that ``Comparator/takesList``, a list of values.
        public var value: FieldInput
        /// Distance in metres, for NEAR only.
        public var distance: Double?

        /// Creates a filter. Its parameters read from left to right. It is checked against the schema when the query
        /// runs.
        public init(_ fieldName: Name, _ comparator: Comparator, _ value: FieldInput, distance: Double? = nil) {
            self.comparator = comparator
            self.fieldName = fieldName
            self.value = value
            self.distance = distance
        }
    }

    /// A sort by one field. Records with equal values are ordered by the next sort, and finally by their names.
    public struct Sort: Sendable, Hashable {
        /// A custom field or either name of a system field. It needs a SORTABLE index; for a sort by distance, a
        /// QUERYABLE index.
        public var fieldName: Name
        /// True for ascending order. In descending order, records without a value come last.
        public var ascending: Bool
        /// The location from which distances are measured. If set, a location field is sorted by distance instead of
        /// by value.
        public var relativeLocation: Location?

        /// Creates a sort, by default an ascending one.
        public init(_ fieldName: Name, ascending: Bool = true, relativeLocation: Location? = nil) {
            self.fieldName = fieldName
            self.ascending = ascending
            self.relativeLocation = relativeLocation
        }
    }

    /// The type of the records to find.
    public var recordType: Name
    /// Conditions that must all be satisfied. Without filters, all records of the type are found.
    public var filters: [Filter]
    /// The sorts, the first one first. Without sorts, records are ordered by name.
    public var sorts: [Sort]

    /// Creates a query, by default for all records of a type.
    public init(recordType: Name, filters: [Filter] = [], sorts: [Sort] = []) {
        self.recordType = recordType
        self.filters = filters
        self.sorts = sorts
    }
}

// MARK: - Comparators

/// How a filter compares a field with its value (Apple's reference page "Types and Dictionaries", and CloudKit JS for
/// LIST_CONTAINS_ANY).
public enum Comparator: String, Sendable, Hashable, CaseIterable {
    /// The values are equal: strings by their bytes, references by the record to which they refer, locations by
    /// latitude and longitude.
    case equals = "EQUALS"
    /// The negation of ``equals``. As with each negation, a field without a value matches.
    case notEquals = "NOT_EQUALS"
    /// The field comes before the value, in the order of sorts.
    case lessThan = "LESS_THAN"
    /// The field comes before the value, or is equal.
    case lessThanOrEquals = "LESS_THAN_OR_EQUALS"
    /// The field comes after the value.
    case greaterThan = "GREATER_THAN"
    /// The field comes after the value, or is equal.
    case greaterThanOrEquals = "GREATER_THAN_OR_EQUALS"
    /// The location is within a distance in metres. Without a distance, any location matches.
    case near = "NEAR"
    /// All words of the value occur in the text. Case and accents are ignored.
    case containsAllTokens = "CONTAINS_ALL_TOKENS"
    /// At least one word of the value occurs in the text.
    case containsAnyTokens = "CONTAINS_ANY_TOKENS"
    /// The field is equal to one of the values in a list, which must specify their type.
    case `in` = "IN"
    /// The negation of ``in``.
    case notIn = "NOT_IN"
    /// An element of the list is equal to the value.
    case listContains = "LIST_CONTAINS"
    /// An element of the list is equal to one of the values.
    case listContainsAny = "LIST_CONTAINS_ANY"
    /// Each of the values is equal to an element of the list.
    case listContainsAll = "LIST_CONTAINS_ALL"
    /// The negation of ``listContains``.
    case notListContains = "NOT_LIST_CONTAINS"
    /// The negation of ``listContainsAny``.
    case notListContainsAny = "NOT_LIST_CONTAINS_ANY"
    /// The negation of ``listContainsAll``.
    case notListContainsAll = "NOT_LIST_CONTAINS_ALL"
    /// The text begins with the bytes of the value.
    case beginsWith = "BEGINS_WITH"
    /// The negation of ``beginsWith``.
    case notBeginsWith = "NOT_BEGINS_WITH"
    /// An element of the list begins with the bytes of the value.
    case listMemberBeginsWith = "LIST_MEMBER_BEGINS_WITH"
    /// The negation of ``listMemberBeginsWith``.
    case notListMemberBeginsWith = "NOT_LIST_MEMBER_BEGINS_WITH"

    /// The comparator that this one negates; `nil` for positive ones.
    public var negated: Comparator? {
        switch self {
        case .notEquals: .equals
        case .notIn: .in
        case .notListContains: .listContains
        case .notListContainsAny: .listContainsAny
        case .notListContainsAll: .listContainsAll
        case .notBeginsWith: .beginsWith
        case .notListMemberBeginsWith: .listMemberBeginsWith
        default: nil
        }
    }

    /// True if the filter's value is a list of candidates.
    public var takesList: Bool {
        switch self {
        case .in, .notIn, .listContainsAny, .listContainsAll, .notListContainsAny, .notListContainsAll: true
        default: false
        }
    }

    /// True if the comparator examines the elements of a list field.
    public var comparesList: Bool {
        switch negated ?? self {
        case .listContains, .listContainsAny, .listContainsAll, .listMemberBeginsWith: true
        default: false
        }
    }

    /// The possible indexes for the comparator. Any one of them is sufficient.
    public var requiredIndexes: Indexes {
        switch negated ?? self {
        case .containsAllTokens, .containsAnyTokens: .searchable
        case .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals, .beginsWith: [.queryable, .sortable]
        default: .queryable
        }
    }
}

// MARK: - Parsing

// Queries in requests (Apple's reference page "Types and Dictionaries").

extension Query {
    /// - Throws: `RecordError` BAD_REQUEST with the invalid member.
    public init(_ object: RequestObject) throws {
        try self.init(object, absent: nil)
    }

    /// - Parameter absent: the value of a filter without one, which requests may not have; `nil` refuses it.
    fileprivate init(_ object: RequestObject, absent: FieldInput?) throws {
        self.init(
            recordType: try object.required("recordType", "a string", object.name("recordType")),
            filters: try (object.objects("filterBy") ?? []).map { try Filter($0, absent: absent) },
            sorts: try (object.objects("sortBy") ?? []).map { try Sort($0) })
    }
}

extension Query: JSONObjectCoded {
    /// `{"recordType":"Item","filterBy":[…],"sortBy":[…]}`. Non-finite numbers become `null`.
    package static let form = JSONForm(
        read: { try Query($0, absent: .cleared) },
        write: { query, writer in
            writer.member("recordType", query.recordType)
            writer.member("filterBy", values: query.filters) { $0.value($1) }
            writer.member("sortBy", values: query.sorts) { $0.value($1) }
        })
}

extension Query.Filter {
    fileprivate init(_ object: RequestObject, absent: FieldInput?) throws {
        let fieldName = try object.fieldName()
        let comparatorName = try object.required("comparator", "a string", object.string("comparator"))
        guard let comparator = Comparator(rawValue: comparatorName) else {
            throw RecordError.unexpectedInput(
                "Unknown comparator '\(comparatorName)' in '\(object.place)'; known are \(Comparator.allCases.map(\.rawValue).joined(separator: ", "))"
            )
        }
        let input = try object.value("fieldValue").map { try FieldInput($0, field: fieldName) } ?? absent
        let value = try object.required("fieldValue", "a value like {\"value\": …, \"type\": …}", input)
        self.init(fieldName, comparator, value, distance: try object.number("distance"))
    }
}

extension Query.Sort {
    fileprivate init(_ object: RequestObject) throws {
        let fieldName = try object.fieldName()
        let location = try object.value("relativeLocation").map { json in
            guard
                case .location(let location)? = try FieldInput(json, field: "relativeLocation").value(
                    declared: .location)
            else {
                throw object.unexpected("relativeLocation", "a location: an object with latitude and longitude", json)
            }
            return location
        }
        self.init(fieldName, ascending: try object.bool("ascending") ?? true, relativeLocation: location)
    }
}

extension RequestObject {
    /// The field of a filter or a sort, given as a custom field or as a system field.
    fileprivate func fieldName() throws -> Name {
        if let name = try self.name("fieldName") { return name }
        let name = try required("fieldName", "a string (or 'systemFieldName')", self.name("systemFieldName"))
        guard let field = SystemField(named: name) else {
            throw RecordError(
                .badRequest,
                "Unknown system field '\(name)' in '\(place)'; known are \(SystemField.allCases.map(\.alias.string).joined(separator: ", "))"
            )
        }
        return field.schemaName
    }

    /// The zone ID in a member; `nil` if the member is absent.
    public func zoneID(_ name: Name = "zoneID") throws -> ZoneID? {
        try object(name)?.asZoneID()
    }

    /// This object as a zone ID. Without a name, it is the default zone.
    public func asZoneID() throws -> ZoneID {
        ZoneID(zoneName: try name("zoneName") ?? ZoneID.defaultZoneName, ownerRecordName: try name("ownerRecordName"))
    }
}

extension ZoneID: JSONCoded {
    package static var shape: JSONShape { .object(nil) }

    package init(_ json: JSONValue, at path: @autoclosure () -> RequestObject.Path) throws {
        self = try RequestObject(json, at: path()).asZoneID()
    }

    package func write(into writer: inout JSONWriter) { writer.value(self) }
}

// MARK: - Writing

// JSON form of queries in requests (Apple's reference page "Types and Dictionaries").

extension JSONWriter {
    /// Writes the zone of a request, without an owner that only stands for the caller.
    package mutating func member(zoneID: ZoneID) {
        name("zoneID")
        object { $0.members(of: zoneID) }
    }

    package mutating func members(of zoneID: ZoneID) {
        member("zoneName", zoneID.zoneName)
        if let owner = zoneID.ownerRecordName, !ZoneID.currentOwnerNames.contains(owner) {
            member("ownerRecordName", owner)
        }
    }

    fileprivate mutating func value(_ filter: Query.Filter) {
        object { writer in
            writer.member("comparator", filter.comparator.rawValue)
            writer.member("fieldName", filter.fieldName)
            writer.name("fieldValue")
            writer.value(filter.value)
            if let distance = filter.distance {
                writer.name("distance")
                writer.value(distance)
            }
        }
    }

    fileprivate mutating func value(_ sort: Query.Sort) {
        object { writer in
            writer.member("fieldName", sort.fieldName)
            writer.member("ascending", sort.ascending)
            if let location = sort.relativeLocation {
                writer.name("relativeLocation")
                writer.value(FieldValue.location(location))
            }
        }
    }

    /// Writes a field of a save or the value of a filter: `{"value":"x","type":"STRING"}`.
    public mutating func value(_ input: FieldInput) {
        switch input {
        case .cleared: null()
        case .untagged(let value, let isEncrypted): self.value(value, type: nil, isEncrypted)
        case .tagged(let value, let type, let isEncrypted): self.value(value, type: type, isEncrypted)
        }
    }

    private mutating func value(_ value: FieldValue, type: FieldType?, _ isEncrypted: Bool) {
        object { writer in
            writer.name("value")
            writer.input(value)
            if let type { writer.member("type", type.wireName) }
            if isEncrypted { writer.member("isEncrypted", true) }
        }
    }

    /// Writes a value as in requests. Unlike in responses, assets contain their upload receipt.
    private mutating func input(_ value: FieldValue) {
        switch value {
        case .asset(let asset):
            object { writer in
                writer.member("fileChecksum", asset.fileChecksum)
                writer.member("size", asset.size)
                if let checksum = asset.referenceChecksum { writer.member("referenceChecksum", checksum) }
                if let key = asset.wrappingKey { writer.member("wrappingKey", key) }
                if let receipt = asset.receipt { writer.member("receipt", receipt) }
                if let fileName = asset.fileName { writer.member("fileName", fileName) }
            }
        case .list(let elements, _):
            array { writer in
                for element in elements { writer.input(element) }
            }
        default: self.value(value)
        }
    }
}

extension FieldInput {
    /// True if the value can be represented in JSON, which has no infinities and NaN.
    public var isFinite: Bool {
        switch self {
        case .cleared: true
        case .untagged(let value, _), .tagged(let value, _, _): value.isFinite
        }
    }
}

extension FieldValue {
    fileprivate var isFinite: Bool {
        switch self {
        case .double(let double): double.isFinite
        case .location(let location): location.latitude.isFinite && location.longitude.isFinite
        case .list(let elements, _): elements.allSatisfy(\.isFinite)
        default: true
        }
    }
}
