internal import JSON
internal import RecordStore
internal import Records

// The parts of requests (Apple's reference page "Types and Dictionaries").

extension JSONWriter {
    mutating func member(zoneID: ZoneID) {
        name("zoneID")
        value(zoneID)
    }

    /// A token to go on from. One without bytes can't be sent: the empty text means the beginning.
    /// - Throws: `RecordError` BAD_REQUEST, as every store refuses such a token.
    mutating func member(since token: ChangeToken?) throws {
        guard let token else { return }
        guard !token.bytes.isEmpty else { throw TokenOffice.foreign }
        member("syncToken", token.text)
    }

    mutating func member(_ name: Name, _ names: Set<Name>?) {
        guard let names else { return }
        self.name(name)
        array { writer in
            for name in names.sorted() { writer.value(name) }
        }
    }

    mutating func members(of limit: PageLimit) {
        member("resultsLimit", Int64(limit.records))
        member("bytesLimit", Int64(max(0, limit.bytes)))
    }

    // MARK: Saving

    mutating func value(_ operation: RecordOperation) throws {
        try object { writer in
            writer.member("operationType", operation.kind.rawValue)
            writer.name("record")
            try writer.object { try $0.members(of: operation) }
        }
    }

    private mutating func members(of operation: RecordOperation) throws {
        if let recordName = operation.recordName { member("recordName", recordName) }
        if let zoneID = operation.zoneID { member(zoneID: zoneID) }
        if let recordType = operation.recordType { member("recordType", recordType) }
        if let tag = operation.recordChangeTag { member("recordChangeTag", tag) }
        name("fields")
        try object { writer in
            for (name, input) in operation.fields.sorted(by: { $0.key < $1.key }) {
                writer.name(name)
                try writer.value(input, of: name)
            }
        }
        switch operation.parent {
        case .unchanged: break
        case .cleared:
            name("parent")
            null()
        case .record(let parent):
            name("parent")
            object { $0.member("recordName", parent) }
        }
        guard let provenance = operation.provenance else { return }
        name("created")
        value(provenance.created)
        name("modified")
        value(provenance.modified)
    }

    /// A field of a save, or the value of a filter.
    /// - Throws: `RecordError` BAD_REQUEST for a number that JSON has no word for.
    mutating func value(_ input: FieldInput, of field: Name) throws {
        switch input {
        case .cleared: null()
        case .untagged(let value, let isEncrypted): try self.value(value, type: nil, isEncrypted, of: field)
        case .tagged(let value, let type, let isEncrypted): try self.value(value, type: type, isEncrypted, of: field)
        }
    }

    private mutating func value(_ value: FieldValue, type: FieldType?, _ isEncrypted: Bool, of field: Name) throws {
        guard value.isFinite else {
            throw RecordError(.badRequest, "Invalid value, expected a number that is finite. Field: '\(field)'")
        }
        object { writer in
            writer.name("value")
            writer.input(value)
            if let type { writer.member("type", type.wireName) }
            if isEncrypted { writer.member("isEncrypted", true) }
        }
    }

    /// A value as requests have it: assets with the receipt of their upload, which answers leave out.
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

    // MARK: Querying

    mutating func value(_ query: Query) throws {
        try object { writer in
            writer.member("recordType", query.recordType)
            writer.name("filterBy")
            try writer.array { writer in
                for filter in query.filters { try writer.value(filter) }
            }
            writer.name("sortBy")
            writer.array { writer in
                for sort in query.sorts { writer.value(sort) }
            }
        }
    }

    private mutating func value(_ filter: Query.Filter) throws {
        try object { writer in
            writer.member("comparator", filter.comparator.rawValue)
            writer.member("fieldName", filter.fieldName)
            writer.name("fieldValue")
            try writer.value(filter.value, of: filter.fieldName)
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
}

extension FieldValue {
    /// Whether JSON can say it.
    fileprivate var isFinite: Bool {
        switch self {
        case .double(let double): double.isFinite
        case .location(let location): location.latitude.isFinite && location.longitude.isFinite
        case .list(let elements, _): elements.allSatisfy(\.isFinite)
        default: true
        }
    }
}
