internal import JSON
internal import Records
internal import RecordStore

/// A record from a line of an export.
struct RestoredRecord: Sendable {
    var recordName: Name
    var recordType: Name
    /// The zone in the export.
    var zoneID: ZoneID
    var fields: [Name: FieldInput]
    var parent: Name?
    var provenance: Provenance
    /// Sharing's part of the record.
    var sharing: RecordSharing?

    private static let members: Set<Name> = [
        "recordName", "recordType", "zoneID", "fields", "parent", "created", "modified", "shortGUID", "share", "publicPermission", "participants",
        "rootRecordName",
    ]

    /// Parses a line and checks everything that needs no store.
    /// - Throws: `BadRow` if the line is invalid.
    init(_ row: Row) throws(BadRow) {
        let object = JSONObject(row)
        if let unknown = object.names.first(where: { !Self.members.contains($0) }) {
            throw BadRow("a record of an export has no '\(unknown)'; it has \(Self.members.sorted().map(\.string).joined(separator: ", "))")
        }
        recordName = Name(try Self.string("recordName", object))
        recordType = Name(try Self.string("recordType", object))
        let zone = try Self.object("zoneID", object)
        let (fields, created, modified) = (
            try Self.object("fields", object), try Self.object("created", object), try Self.object("modified", object)
        )
        let parent: JSONObject? = if object["parent"] == nil { nil } else { try Self.object("parent", object) }
        self.parent = if let parent { Name(try Self.string("recordName", parent)) } else { nil }
        provenance = Provenance(created: try Self.signature("created", created), modified: try Self.signature("modified", modified))
        do {
            sharing = try RecordSharing(object)
            provenance.shortGUID = sharing?.shortGUID
            if (sharing?.share != nil) != (recordType == Share.recordType) {
                throw RecordError(.badRequest, "'publicPermission' and 'participants' belong to shares, and every share has them")
            }
            zoneID = try ZoneID(.object(zone))
            self.fields = [:]
            self.fields.reserveCapacity(fields.members.count)
            for field in fields {
                let input = try FieldInput(field.value, field: field.name)
                guard case .tagged = input else {
                    throw RecordError(.badRequest, "the field '\(field.name)' has no value with its type, such as {\"value\":1,\"type\":\"INT64\"}")
                }
                self.fields[field.name] = input
            }
            try NameRules.checkRecordName(recordName)
            try NameRules.checkTypeName(recordType, from: .schema)
            if let parent = self.parent { try NameRules.checkRecordName(parent) }
            try provenance.check()
        } catch let error as RecordError {
            throw BadRow(error.reason)
        } catch {
            throw BadRow("\(error)")
        }
    }

    private static func object(_ name: Name, _ object: JSONObject) throws(BadRow) -> JSONObject {
        switch object[name] {
        case .object(let value)?: return value
        case let other?: throw BadRow("'\(name)' is \(other.kind) where an object is expected")
        case nil: throw BadRow("the record has no '\(name)'")
        }
    }

    private static func string(_ name: Name, _ object: JSONObject) throws(BadRow) -> String {
        switch object[name] {
        case .string(let string)?: return string
        case let other?: throw BadRow("'\(name)' is \(other.kind) where a string is expected")
        case nil: throw BadRow("'\(name)' is missing")
        }
    }

    private static func signature(_ name: Name, _ object: JSONObject) throws(BadRow) -> Signature {
        guard case .integer(let milliseconds)? = object["timestamp"] else {
            throw BadRow("'\(name)' has no 'timestamp' in whole milliseconds")
        }
        return Signature(
            timestamp: Timestamp(milliseconds: milliseconds), userRecordName: Name(try string("userRecordName", object)),
            deviceID: try string("deviceID", object))
    }

    /// True if the record has a VALIDATE reference, whose target must exist when the record is saved.
    var needsTargets: Bool {
        // Shares are saved when all targets exist.
        !isShare && fields.values.contains { input in
            input.value?.elements.contains { if case .reference(let reference) = $0 { reference.action == .validate } else { false } } ?? false
        }
    }

    var hasEncrypted: Bool {
        fields.values.contains { if case .tagged(_, _, let isEncrypted) = $0 { isEncrypted } else { false } }
    }

    var isShare: Bool { recordType == Share.recordType }

    /// The assets of the record with their field names.
    var assets: [(field: Name, asset: Asset)] {
        fields.flatMap { name, input in (input.value?.assets ?? []).map { (name, $0) } }
    }

    /// Transforms every reference.
    mutating func mapReferences(_ change: (Reference) -> Reference) {
        fields = fields.mapValues { input in
            guard case .tagged(let value, let type, let isEncrypted) = input, type.valueType == .reference else { return input }
            return .tagged(value.mappingReferences(change), type, isEncrypted: isEncrypted)
        }
    }
}

extension FieldInput {
    fileprivate var value: FieldValue? {
        if case .tagged(let value, _, _) = self { value } else { nil }
    }
}
