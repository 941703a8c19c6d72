internal import RecordStore
internal import Records

/// A record from a line of an export.
struct RestoredRecord: Sendable {
    var recordName: Name
    var recordType: Name
    /// The zone in the export.
    var zoneID: ZoneID
    var fields: [Name: FieldInput]
    var parent: Name?
    var provenance: Provenance
    /// The sharing information of the record.
    var sharing: RecordSharing?

    private static let members: Set<Name> = [
        "recordName", "recordType", "zoneID", "fields", "parent", "created", "modified", "shortGUID", "share",
        "publicPermission", "participants",
        "rootRecordName",
    ]

    /// Parses a line and checks everything that needs no store.
    /// - Throws: `BadRow` if the line is invalid.
    init(_ row: Row) throws(BadRow) {
        let object = JSONObject(row)
        if let unknown = object.names.first(where: { !Self.members.contains($0) }) {
            throw BadRow(
                "a record of an export has no '\(unknown)'; it has \(Self.members.sorted().map(\.string).joined(separator: ", "))"
            )
        }
        recordName = Name(try Self.string("recordName", object))
        recordType = Name(try Self.string("recordType", object))
        let zone = try Self.object("zoneID", object)
        let (fields, created, modified) = (
            try Self.object("fields", object), try Self.object("created", object), try Self.object("modified", object)
        )
        let parent: JSONObject? = if object["parent"] == nil { nil } else { try Self.object("parent", object) }
        self.parent = if let parent { Name(try Self.string("recordName", parent)) } else { nil }
        provenance = Provenance(
            created: try Self.signature("created", created), modified: try Self.signature("modified", modified))
        do {
            sharing = try RecordSharing(object)
            provenance.shortGUID = sharing?.shortGUID
            if (sharing?.share != nil) != (recordType == Share.recordType) {
                throw RecordError(
                    .badRequest, "'publicPermission' and 'participants' belong to shares, and every share has them")
            }
            zoneID = try ZoneID(.object(zone))
            self.fields = [:]
            self.fields.reserveCapacity(fields.members.count)
            for field in fields {
                let input = try FieldInput(field.value, field: field.name)
                guard case .tagged = input else {
                    throw RecordError(
                        .badRequest,
                        "the field '\(field.name)' has no value with its type, such as {\"value\":1,\"type\":\"INT64\"}"
                    )
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
            timestamp: Timestamp(milliseconds: milliseconds),
            userRecordName: Name(try string("userRecordName", object)),
            deviceID: try string("deviceID", object))
    }

    /// True if the record has a VALIDATE reference, whose target must exist when the record is saved.
    var needsTargets: Bool {
        // Shares are saved when all targets exist.
        !isShare
            && fields.values.contains { input in
                input.value?.elements.contains {
                    if case .reference(let reference) = $0 { reference.action == .validate } else { false }
                } ?? false
            }
    }

    var hasEncrypted: Bool {
        fields.values.contains { if case .tagged(_, _, let isEncrypted) = $0 { isEncrypted } else { false } }
    }

    var isShare: Bool { recordType == Share.recordType }

    /// The assets of the record, with the names of their fields.
    var assets: [(field: Name, asset: Asset)] {
        fields.flatMap { name, input in (input.value?.assets ?? []).map { (name, $0) } }
    }

    /// Transforms every reference.
    mutating func mapReferences(_ change: (Reference) -> Reference) {
        fields = fields.mapValues { input in
            guard case .tagged(let value, let type, let isEncrypted) = input, type.valueType == .reference else {
                return input
            }
            return .tagged(value.mappingReferences(change), type, isEncrypted: isEncrypted)
        }
    }
}

extension FieldInput {
    fileprivate var value: FieldValue? {
        if case .tagged(let value, _, _) = self { value } else { nil }
    }
}

// MARK: - Zones

/// Maps the records of an export and their references to the target zones.
struct RestoreTargets: Sendable {
    private let header: ExportHeader
    private let address: DatabaseAddress
    private let caller: Caller
    /// The target zone of all records; `nil` to keep their own zones.
    private let zoneID: ZoneID?

    init(_ header: ExportHeader, into address: DatabaseAddress, as caller: Caller, zoneID: ZoneID?) throws(ImportError)
    {
        self.header = header
        self.address = address
        self.caller = caller
        self.zoneID = zoneID
        guard zoneID == nil else { return }
        let names = header.zones.map { "'\($0.zoneName)'" }.joined(separator: ", ")
        if address.scope == .public, !header.zones.isEmpty {
            throw .invalid(
                "The public database has only its default zone, but the export has \(names); choose another --database")
        }
        if address.scope == .shared, header.address.scope != .shared {
            throw .invalid("A zone of the shared database belongs to another user: add --zone and --zone-owner")
        }
        if address.scope != .shared, Set(header.zones.map(\.zoneName)).count < header.zones.count {
            throw .invalid(
                "The export has zones with the same name of several users; restore it into the shared database")
        }
    }

    /// True if all records go into one zone.
    var isSingle: Bool { zoneID != nil }

    /// The zones that must exist before records are saved.
    var zones: [ZoneID] {
        if let zoneID { return [zoneID] }
        return header.zones.map(target)
    }

    /// The target zone for records of an exported zone.
    func target(of source: ZoneID) -> ZoneID {
        if let zoneID { return zoneID }
        return address.scope == .shared ? source : ZoneID(zoneName: source.zoneName)
    }

    /// Returns whether shares of an exported zone are restored.
    func carriesShares(of source: ZoneID) -> Bool {
        RecordCopier.carriesShares(from: header.address.scope, to: address.scope, target(of: source))
    }

    /// The record with its target zone. References to the source zone or owner become references to the target zone or
    /// owner.
    func placed(_ record: RestoredRecord) -> RestoredRecord {
        var record = record
        let target = target(of: record.zoneID)
        let move = ReferenceMove(
            from: record.zoneID, in: header.address.scope, of: header.user?.userRecordName, to: target,
            in: address.scope, of: caller.userRecordName)
        if !move.changesNothing { record.mapReferences(move.moved) }
        record.zoneID = target
        return record
    }
}

// MARK: - Duplicates

/// Detects duplicate records in a file.
///
/// Exports are sorted by name. While the names of a zone ascend, there can be no duplicates, so only the last name is
/// kept.
struct DuplicateDetector {
    enum Finding {
        case new
        case taken(line: Int)
        /// The names do not ascend, so all must be kept to detect duplicates.
        case unknown
    }

    private let keepsAll: Bool
    private var last: [ZoneID: (name: Name, line: Int)] = [:]
    private var all: [ZoneID: [Name: Int]] = [:]

    /// - Parameter keepsAll: true to keep every name, for unsorted files.
    init(keepsAll: Bool) {
        self.keepsAll = keepsAll
    }

    mutating func note(_ name: Name, in zoneID: ZoneID, line: Int) -> Finding {
        if keepsAll {
            if let taken = all[zoneID]?[name] { return .taken(line: taken) }
            all[zoneID, default: [:]][name] = line
            return .new
        }
        if let last = last[zoneID] {
            if last.name == name { return .taken(line: last.line) }
            if name < last.name { return .unknown }
        }
        last[zoneID] = (name, line)
        return .new
    }
}
