internal import AssetStore
internal import JSON
internal import NIOCore
internal import Records
internal import RecordStore

/// Applies a story to its container, in chronological order.
struct DemoStage: Sendable {
    /// Operations per request, CloudKit's maximum.
    private static let batchSize = 200

    let engine: any RecordEngine
    let assets: AssetStores
    let clock: SettableClock
    let container: ContainerID
    let developer: Name

    /// True if the container exists and has a record type of its own.
    func isUsed() async throws -> Bool {
        guard try await engine.has(container) else { return false }
        return try await database(.private, as: developer).schema().types.keys.contains { $0 != Schema.usersType }
    }

    func play(_ story: DemoStory) async throws {
        // Simultaneous events keep their order.
        let events = story.events.enumerated().sorted { ($0.element.moment, $0.offset) < ($1.element.moment, $1.offset) }.map(\.element)
        guard let first = events.first else { return }
        clock.set(first.moment)
        if !story.types.isEmpty {
            _ = try await database(.private, as: developer).edit(story.types.map { .addType($0) }, because: .data)
        }
        for event in events {
            clock.set(event.moment)
            try await play(event)
        }
    }

    private func play(_ event: DemoEvent) async throws {
        switch event.action {
        case .save(let operations, let attachments, let zoneID, let scope, let device):
            let database = try await database(scope, as: event.user, on: device)
            var rest = try await attach(attachments, to: operations, in: zoneID, of: database)[...]
            while !rest.isEmpty {
                let request = ModifyRequest(Array(rest.prefix(Self.batchSize)), zoneID: zoneID)
                for outcome in try await database.modify(request) { _ = try outcome.get() }
                rest = rest.dropFirst(Self.batchSize)
            }
        case .zones(let operations):
            for outcome in try await database(.private, as: event.user).modifyZones(operations) { _ = try outcome.get() }
        case .accept(let share, let zoneID, let owner):
            let records = try await database(.private, as: owner).fetch([RecordID(recordName: share, zoneID: zoneID)], desiredKeys: nil)
            let links = try records.compactMap { try $0.get().sharing?.shortGUID }
            let user = LookupInfo(userRecordName: event.user)
            for outcome in try await database(.public, as: event.user).accept(links, by: user) { _ = try outcome.get() }
        case .purge(let zoneID):
            try await database(.private, as: event.user).purge(zoneID)
        case .setKeys(let values):
            let operations = values.sorted { $0.key < $1.key }.map { KeyValueOperation.set($0.key, $0.value) }
            _ = try await database(.private, as: event.user).modifyKeyValues(operations)
        }
    }

    // MARK: Files

    /// The number of concurrent uploads.
    private static let uploadLimit = 4

    /// Uploads files like a normal client, and adds them to their records.
    private func attach(
        _ attachments: [DemoAttachment], to operations: [RecordOperation], in zoneID: ZoneID, of database: any RecordDatabase
    ) async throws -> [RecordOperation] {
        if attachments.isEmpty { return operations }
        let types = Dictionary(operations.map { ($0.recordName, $0.recordType) }, uniquingKeysWith: { first, _ in first })
        let uploads = attachments.flatMap { attachment in
            attachment.files.map { file in
                let slot = AssetSlot(recordType: (types[attachment.recordName] ?? nil) ?? "", fieldName: attachment.fieldName, recordName: attachment.recordName)
                return (slot: slot, file: file)
            }
        }
        let grants = try await database.grantUploads(uploads.map(\.slot), in: zoneID).map { try $0.get() }
        var uploaded = try await upload(Array(zip(uploads.map(\.file), grants)))[...]
        var fields: [Name: [Name: FieldInput]] = [:]
        for attachment in attachments {
            let values = uploaded.prefix(attachment.files.count).map { FieldValue.asset($0) }
            uploaded = uploaded.dropFirst(values.count)
            guard let value = attachment.isList ? .list(values, of: .asset) : values.first else { continue }
            fields[attachment.recordName, default: [:]][attachment.fieldName] = FieldInput(value)
        }
        return operations.map { operation in
            var operation = operation
            if let more = operation.recordName.flatMap({ fields[$0] }) { operation.fields.merge(more) { _, new in new } }
            return operation
        }
    }

    /// - Returns: the assets, in file order.
    private func upload(_ files: [(DemoFile, UploadGrant)]) async throws -> [Asset] {
        let store = try await assets.store(container, .development)
        return try await withThrowingTaskGroup(of: (Int, Asset).self) { group in
            var found: [Int: Asset] = [:]
            for (index, (file, grant)) in files.enumerated() {
                if index >= Self.uploadLimit, let (done, asset) = try await group.next() { found[done] = asset }
                group.addTask {
                    let bytes = file.bytes()
                    let (body, continuation) = AsyncStream.makeStream(of: ByteBuffer.self)
                    continuation.yield(ByteBuffer(bytes: bytes))
                    continuation.finish()
                    return (index, try await store.receive(body, ticket: grant.ticket, fileName: file.name, declaredSize: Int64(bytes.count)))
                }
            }
            for try await (done, asset) in group { found[done] = asset }
            return found.sorted { $0.key < $1.key }.map(\.value)
        }
    }

    private func database(_ scope: DatabaseScope, as user: Name, on device: String = "iCloud") async throws -> any RecordDatabase {
        let address = DatabaseAddress(container: container, environment: .development, scope: scope)
        return try await engine.database(address, as: Caller(userRecordName: user, deviceID: device))
    }
}
