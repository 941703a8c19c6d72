internal import JSON
internal import Records
internal import RecordStore

/// Plays a story into its container, in the order of time.
struct DemoStage: Sendable {
    /// Operations in one request, the most that CloudKit takes.
    private static let batchSize = 200

    let engine: any RecordEngine
    let clock: SettableClock
    let container: ContainerID
    let developer: Name

    /// Whether the container is there with a record type of its own.
    func isUsed() async throws -> Bool {
        guard try await engine.containers().contains(container) else { return false }
        guard let editor = try await database(.private, as: developer) as? any SchemaEditing else { return true }
        return try await editor.schema().types.keys.contains { $0 != Schema.usersType }
    }

    func play(_ story: DemoStory) async throws {
        // Events of one moment stay in their order.
        let events = story.events.enumerated().sorted { ($0.element.moment, $0.offset) < ($1.element.moment, $1.offset) }.map(\.element)
        guard let first = events.first else { return }
        clock.set(first.moment)
        if !story.types.isEmpty, let editor = try await database(.private, as: developer) as? any SchemaEditing {
            _ = try await editor.edit(story.types.map { .addType($0) })
        }
        for event in events {
            clock.set(event.moment)
            try await play(event)
        }
    }

    private func play(_ event: DemoEvent) async throws {
        switch event.action {
        case .save(let operations, let zoneID, let scope, let device):
            let database = try await database(scope, as: event.user, on: device)
            var rest = operations[...]
            while !rest.isEmpty {
                let request = ModifyRequest(Array(rest.prefix(Self.batchSize)), zoneID: zoneID)
                for outcome in try await database.modify(request) { _ = try outcome.get() }
                rest = rest.dropFirst(Self.batchSize)
            }
        case .zones(let operations):
            for outcome in try await database(.private, as: event.user).modifyZones(operations) { _ = try outcome.get() }
        case .share(let zoneID, let user, let permission):
            let sharing = try await database(.private, as: event.user) as? any ZoneSharing
            try await sharing?.share(zoneID, with: ZoneParticipant(userRecordName: user, permission: permission))
        case .stopSharing(let zoneID, let user):
            let sharing = try await database(.private, as: event.user) as? any ZoneSharing
            try await sharing?.stopSharing(zoneID, with: user)
        case .purge(let zoneID):
            let purging = try await database(.private, as: event.user) as? any ZonePurging
            try await purging?.purge(zoneID)
        }
    }

    private func database(_ scope: DatabaseScope, as user: Name, on device: String = "iCloud") async throws -> any RecordDatabase {
        let address = DatabaseAddress(container: container, environment: .development, scope: scope)
        return try await engine.database(address, as: Caller(userRecordName: user, deviceID: device))
    }
}
