public import JSON

// JSON form of queries in requests (Apple's reference page "Types and Dictionaries").

extension JSONWriter {
    /// Writes `{"recordType":"Item","filterBy":[…],"sortBy":[…]}`. Non-finite numbers become `null`.
    public mutating func value(_ query: Query) {
        object { writer in
            writer.member("recordType", query.recordType)
            writer.name("filterBy")
            writer.array { writer in
                for filter in query.filters { writer.value(filter) }
            }
            writer.name("sortBy")
            writer.array { writer in
                for sort in query.sorts { writer.value(sort) }
            }
        }
    }

    private mutating func value(_ filter: Query.Filter) {
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

    private mutating func value(_ sort: Query.Sort) {
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
