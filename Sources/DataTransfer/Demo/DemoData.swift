public import AssetStore
internal import NIOCore
public import RecordStore
public import Records
internal import Synchronization

/// Three small demo containers: a chat app, shopping lists shared between users, and a journal in the format of Core
/// Data's mirroring. The data is deterministic, including record names, times, devices and the generated files.
public struct DemoData: Sendable {
    /// The user record names of the people in the data.
    public struct People: Sendable {
        public var developer: Name
        public var ada: Name
        public var grace: Name

        public init(developer: Name, ada: Name, grace: Name) {
            self.developer = developer
            self.ada = ada
            self.grace = grace
        }
    }

    private let engine: any RecordEngine
    private let assets: AssetStores
    private let clock: SettableClock
    private let people: People

    /// - Parameters:
    ///   - assets: the stores for the files.
    ///   - clock: the clock of the engine and the asset stores.
    public init(engine: any RecordEngine, assets: AssetStores, clock: SettableClock, people: People) {
        self.engine = engine
        self.assets = assets
        self.clock = clock
        self.people = people
    }

    /// Fills the demo containers that do not exist or have no record types. Existing data stays unchanged.
    /// - Returns: the filled containers.
    /// - Throws: `RecordError` if the engine refuses an operation.
    public func fill() async throws -> [ContainerID] {
        defer { clock.set(nil) }
        var filled: [ContainerID] = []
        let stories = [
            ChatDemo(people: people).story, ShoppingDemo(people: people).story, JournalDemo(people: people).story,
        ]
        for story in stories {
            guard let container = ContainerID(story.container) else { continue }
            let stage = DemoStage(
                engine: engine, assets: assets, clock: clock, container: container, developer: people.developer)
            if try await stage.isUsed() { continue }
            try await stage.play(story)
            filled.append(container)
        }
        return filled
    }
}

// MARK: - Events

/// An event in a demo container.
struct DemoEvent: Sendable {
    enum Action: Sendable {
        case save(
            [RecordOperation], attachments: [DemoAttachment], zoneID: ZoneID, scope: DatabaseScope, device: String)
        case zones([ZoneOperation])
        case accept(Name, zoneID: ZoneID, owner: Name)
        case purge(ZoneID)
        case setKeys([Name: PropertyValue])
    }

    let moment: Timestamp
    /// The acting user.
    let user: Name
    let action: Action

    /// - Parameter attachments: the files of some of the records.
    static func save(
        _ operations: [RecordOperation], with attachments: [DemoAttachment] = [], in zoneID: ZoneID,
        of scope: DatabaseScope = .private, as user: Name,
        on device: String, at moment: Timestamp
    ) -> DemoEvent {
        DemoEvent(
            moment: moment, user: user,
            action: .save(operations, attachments: attachments, zoneID: zoneID, scope: scope, device: device))
    }

    static func zones(_ operations: [ZoneOperation], as user: Name, at moment: Timestamp) -> DemoEvent {
        DemoEvent(moment: moment, user: user, action: .zones(operations))
    }

    /// - Parameter share: the record that holds the share, in the owner's zone.
    static func accept(_ share: Name, in zoneID: ZoneID, of owner: Name, as user: Name, at moment: Timestamp)
        -> DemoEvent
    {
        DemoEvent(moment: moment, user: user, action: .accept(share, zoneID: zoneID, owner: owner))
    }

    static func purge(_ zoneID: ZoneID, of owner: Name, at moment: Timestamp) -> DemoEvent {
        DemoEvent(moment: moment, user: owner, action: .purge(zoneID))
    }

    static func setKeys(_ values: [Name: PropertyValue], of user: Name, at moment: Timestamp) -> DemoEvent {
        DemoEvent(moment: moment, user: user, action: .setKeys(values))
    }
}

/// The schema and the events of a demo container. The events need not be in chronological order.
struct DemoStory: Sendable {
    let container: String
    /// Empty if saves create the schema.
    let types: [RecordType]
    let events: [DemoEvent]
}

/// The files of one asset field of a demo record.
struct DemoAttachment: Sendable {
    let recordName: Name
    let fieldName: Name
    let files: [DemoFile]
    /// True if the field is a list of assets.
    let isList: Bool

    static func one(_ file: DemoFile, _ fieldName: Name, of recordName: Name) -> DemoAttachment {
        DemoAttachment(recordName: recordName, fieldName: fieldName, files: [file], isList: false)
    }

    static func list(_ files: [DemoFile], _ fieldName: Name, of recordName: Name) -> DemoAttachment {
        DemoAttachment(recordName: recordName, fieldName: fieldName, files: files, isList: true)
    }
}

// MARK: - Saves

/// Applies a story to its container, in chronological order.
struct DemoStage: Sendable {
    /// Operations per request, CloudKit's maximum.
    private static let batchSize = BatchModifier.operationLimit

    let engine: any RecordEngine
    let assets: AssetStores
    let clock: SettableClock
    let container: ContainerID
    let developer: Name

    /// True if the container exists and has a record type of its own.
    func isUsed() async throws -> Bool {
        guard try await engine.has(container) else { return false }
        return try await database(.private, as: developer).require(.showSchema).schema().types.keys.contains {
            $0 != Schema.usersType
        }
    }

    func play(_ story: DemoStory) async throws {
        // Simultaneous events keep their order.
        let events = story.events.enumerated().sorted {
            ($0.element.moment, $0.offset) < ($1.element.moment, $1.offset)
        }.map(\.element)
        guard let first = events.first else { return }
        clock.set(first.moment)
        if !story.types.isEmpty {
            _ = try await database(.private, as: developer).require(.editSchema).edit(
                story.types.map { .addType($0) }, because: .data)
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
            for outcome in try await database(.private, as: event.user).modifyZones(operations) {
                _ = try outcome.get()
            }
        case .accept(let share, let zoneID, let owner):
            let records = try await database(.private, as: owner).fetch(
                [RecordID(recordName: share, zoneID: zoneID)], desiredKeys: nil)
            let links = try records.compactMap { try $0.get().sharing?.shortGUID }
            let user = LookupInfo(userRecordName: event.user)
            for outcome in try await database(.public, as: event.user).require(.shareRecords).accept(links, by: user) {
                _ = try outcome.get()
            }
        case .purge(let zoneID):
            try await database(.private, as: event.user).require(.purgeZones).purge(zoneID)
        case .setKeys(let values):
            let operations = values.sorted { $0.key < $1.key }.map { KeyValueOperation.set($0.key, $0.value) }
            _ = try await database(.private, as: event.user).require(.keepKeyValues).modifyKeyValues(operations)
        }
    }

    // MARK: Files

    /// The number of concurrent uploads.
    private static let uploadLimit = 4

    /// Uploads files like a normal client, and adds them to their records.
    private func attach(
        _ attachments: [DemoAttachment], to operations: [RecordOperation], in zoneID: ZoneID,
        of database: any RecordDatabase
    ) async throws -> [RecordOperation] {
        if attachments.isEmpty { return operations }
        let types = Dictionary(
            operations.map { ($0.recordName, $0.recordType) }, uniquingKeysWith: { first, _ in first })
        let uploads = attachments.flatMap { attachment in
            attachment.files.map { file in
                let request = UploadRequest(
                    recordType: (types[attachment.recordName] ?? nil) ?? "", fieldName: attachment.fieldName,
                    recordName: attachment.recordName)
                return (request: request, file: file)
            }
        }
        let grants = try await database.require(.uploadAssets).grantUploads(uploads.map(\.request), in: zoneID).map {
            try $0.get()
        }
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
            if let more = operation.recordName.flatMap({ fields[$0] }) {
                operation.fields.merge(more) { _, new in new }
            }
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
                    return (
                        index,
                        try await store.receive(
                            body, ticket: grant.ticket, fileName: file.name, declaredSize: Int64(bytes.count))
                    )
                }
            }
            for try await (done, asset) in group { found[done] = asset }
            return found.sorted { $0.key < $1.key }.map(\.value)
        }
    }

    private func database(_ scope: DatabaseScope, as user: Name, on device: String = "iCloud") async throws
        -> any RecordDatabase
    {
        let address = DatabaseAddress(container: container, environment: .development, scope: scope)
        return try await engine.database(address, as: Caller(userRecordName: user, deviceID: device))
    }
}

// MARK: - Clock

/// A clock for an engine: the system time, unless another time is set. Demo data uses it to simulate saves over years.
public final class SettableClock: Sendable {
    private let moment = Mutex<Timestamp?>(nil)

    public init() {}

    /// The time that was set, or else the system time.
    public func now() -> Timestamp {
        moment.withLock { $0 } ?? Timestamp.now()
    }

    /// Sets a fixed time; `nil` returns to the system time.
    public func set(_ moment: Timestamp?) {
        self.moment.withLock { $0 = moment }
    }
}
