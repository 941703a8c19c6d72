internal import RecordStore
internal import Records

/// `records/modify`: saves and deletes up to 200 records, with one answer item per operation (Apple's reference page
/// "Modifying Records").
struct RecordsModify: Endpoint {
    let purpose = EndpointPurpose.ofUser
    /// True for `records/restore`, our own service that restores copies: records keep the `created` and `modified`
    /// values of the request, instead of getting those of the client and the present.
    var restores = false

    private struct Item {
        let operation: RecordOperation
        let desiredKeys: Set<Name>?
        let numbersAsStrings: Bool?
    }

    func answer(_ call: EndpointCall, into writer: inout JSONWriter) async throws {
        let body = call.body
        let zoneID = try body.zoneID() ?? .default
        let desiredKeys = try body.desiredKeys()
        let numbersAsStrings = try body.numbersAsStrings() ?? false
        let items = try items(of: body)
        let request = ModifyRequest(
            items.map(\.operation), zoneID: zoneID, atomic: try body.bool("atomic") ?? true, requestID: call.requestID)
        call.note?.about(items.map { $0.operation.zoneID ?? zoneID })
        let database = try await call.database()
        let outcomes = try await database.modify(request)
        call.note?.items(outcomes) { items[$0].operation.recordName }
        call.note?.saved(request.operations, outcomes, in: zoneID)
        try await call.note?.checkDesiredKeys(desiredKeys, in: database)
        let token = try await call.syncToken(of: zoneID, in: database)
        // Failed items have no assets; their errors are written below.
        let downloadURL = try await call.assets.addresses(
            ifAny: outcomes.contains { (try? $0.get().record?.fields.mayHoldAssets) ?? false })
        try writer.object { writer in
            try writer.member("records", values: zip(items, outcomes)) { writer, pair in
                let (item, outcome) = pair
                switch outcome {
                case .success(.saved(let record)):
                    try writer.value(
                        record.keeping(item.desiredKeys ?? desiredKeys),
                        numbersAsStrings: item.numbersAsStrings ?? numbersAsStrings,
                        downloadURL: downloadURL, for: call.caller.userRecordName)
                case .success(.deleted(let recordID)): writer.deletion(of: recordID.recordName)
                case .failure(let error): writer.value(error, recordName: item.operation.recordName)
                }
            }
            if let token { writer.member("syncToken", token.text) }
        }
    }

    private func items(of body: RequestObject) throws -> [Item] { try body.items("operations").map(item) }

    /// The operations of a request.
    static func operations(in body: RequestObject) throws -> [RecordOperation] {
        try RecordsModify().items(of: body).map(\.operation)
    }

    private func item(_ object: RequestObject) throws -> Item {
        let kindName = try object.required("operationType", "a string", object.string("operationType"))
        guard let kind = RecordOperation.Kind(rawValue: kindName) else {
            throw RecordError.unexpectedInput(
                "Unknown operationType '\(kindName)' in '\(object.place)'; known are "
                    + RecordOperation.Kind.allCases.map(\.rawValue).joined(separator: ", "))
        }
        let record = try object.required("record", "an object", object.object("record"))
        var operation = try Self.operation(kind, record)
        if restores { operation.provenance = try Self.provenance(of: record) }
        return Item(
            operation: operation, desiredKeys: try object.desiredKeys(), numbersAsStrings: try object.numbersAsStrings()
        )
    }

    private static func operation(_ kind: RecordOperation.Kind, _ record: RequestObject) throws -> RecordOperation {
        var operation = RecordOperation(
            kind, recordName: try record.name("recordName"), zoneID: try record.zoneID(),
            recordType: try record.name("recordType"),
            recordChangeTag: try record.string("recordChangeTag"),
            fields: kind.isDeletion ? [:] : try fields(of: record),
            parent: try parent(of: record))
        if case .record = operation.parent { operation.parentZoneID = try record.object("parent")?.zoneID() }
        operation.createsShortGUID = record.value("createShortGUID") == .bool(true)
        if !kind.isDeletion { operation.share = try share(of: record) }
        return operation
    }

    /// The fields of a save, wrapped or raw. Deletions are not checked for fields.
    private static func fields(of record: RequestObject) throws -> [Name: FieldInput] {
        guard let fields = try record.object("fields") else { return [:] }
        return Dictionary(
            try fields.members.map { ($0.name, try FieldInput($0.value, field: $0.name)) },
            uniquingKeysWith: { first, _ in first })
    }

    private static func parent(of record: RequestObject) throws -> RecordOperation.Parent {
        guard let json = record.members["parent"] else { return .unchanged }
        if json == .null { return .cleared }
        let parent = try record.required("parent", "an object", record.object("parent"))
        // Some serializers omit null members and send an empty object instead.
        if parent.members.members.allSatisfy({ $0.value == .null }) { return .cleared }
        return .record(try parent.required("recordName", "a string", parent.name("recordName")))
    }

    /// The members of a share beside its fields.
    private static func share(of record: RequestObject) throws -> ShareInput {
        var share = ShareInput()
        if let root = try record.object("forRecord") {
            share.root = ShareInput.Root(
                recordName: try root.required("recordName", "a string", root.name("recordName")),
                zoneID: try root.zoneID(),
                recordChangeTag: try root.string("recordChangeTag"))
        }
        if let permission = record.value("publicPermission") {
            share.publicPermission = try SharePermission(permission, member: "publicPermission")
        }
        share.participants = try record.objects("participants")?.map { try ShareParticipant(.object($0.members)) }
        return share
    }

    /// The creator and last modifier of a restored record; `nil` if the request has neither.
    private static func provenance(of record: RequestObject) throws -> Provenance? {
        let (created, modified) = (try record.object("created"), try record.object("modified"))
        if created == nil, modified == nil { return nil }
        guard let created else { throw incomplete(record, missing: "created", having: "modified") }
        guard let modified else { throw incomplete(record, missing: "modified", having: "created") }
        return Provenance(
            created: try signature(created), modified: try signature(modified),
            shortGUID: try record.string("shortGUID"))
    }

    private static func incomplete(_ record: RequestObject, missing: Name, having: Name) -> RecordError {
        RecordError.unexpectedInput(
            "Expected '\(record.place(of: missing))' to be an object, because '\(having)' is present: send both to restore a record, or neither "
                + "to save it now")
    }

    private static func signature(_ object: RequestObject) throws -> Signature {
        guard case .integer(let milliseconds)? = object.value("timestamp") else {
            throw RecordError.unexpectedInput(
                "Expected '\(object.place(of: "timestamp"))' to be milliseconds since 1970, a whole number")
        }
        return Signature(
            timestamp: Timestamp(milliseconds: milliseconds),
            userRecordName: try object.required("userRecordName", "a string", object.name("userRecordName")),
            deviceID: try object.string("deviceID") ?? "")
    }
}

extension ModifyOutcome {
    fileprivate var record: StoredRecord? {
        if case .saved(let record) = self { record } else { nil }
    }
}
