internal import Accounts
internal import AssetStore
internal import JSON
internal import RecordStore
internal import Records
internal import Traffic

/// One request for a page of a place: what was asked, and what most pages need to know of the place.
struct Visit: Sendable {
    let place: Place
    let fields: FormFields
    let database: any RecordDatabase
    let engine: any RecordEngine
    let accounts: Accounts
    let assets: AssetStores
    /// What the web services were asked.
    let log: RequestLog
    let stopwatch: Stopwatch
    let people: People
    let containers: [ContainerID]
    /// The zones of the database, the default zone first.
    let zones: [Zone]
    /// `nil` when the engine does not show its schema.
    let schema: Schema?

    /// The types that can be queried, by name.
    var types: [RecordType] {
        schema?.sortedTypes.filter { $0.name != Schema.usersType } ?? []
    }

    var canEditSchema: Bool {
        place.address.environment == .development && database is any SchemaEditing
    }

    /// The zone as people read it.
    func zoneName(_ zoneID: ZoneID) -> String {
        zoneID.zoneName.string
    }

    /// Whose zone it is, where that is in question.
    func ownerName(_ zoneID: ZoneID) -> String? {
        guard place.address.scope == .shared, let owner = zoneID.ownerRecordName else { return nil }
        return "of \(people.name(of: owner))"
    }

    /// Whether the zone has a feed of changes.
    func hasFeed(_ zoneID: ZoneID) -> Bool {
        place.hasFeed && !zoneID.isDefault
    }

    /// The zones that have a feed.
    var customZones: [Zone] { zones.filter { hasFeed($0.zoneID) } }

    func measure<Value: Sendable>(_ body: @Sendable () async throws -> Value) async rethrows -> Value {
        try await stopwatch.measure(body)
    }

    /// Where the assets of some records can be fetched; `nil` when none of them has any.
    func links(toAssetsOf records: some Sequence<StoredRecord>) async throws -> AssetLinks? {
        guard records.contains(where: { $0.fields.mayHoldAssets }) else { return nil }
        return try await measure { try await assets.links(place.address.container, place.address.environment, origin: "") }
    }

    /// Records by type in a zone, where the engine counts.
    func counts(in zoneID: ZoneID) async throws -> ZoneCounts? {
        guard let counting = database as? any RecordCounting else { return nil }
        return try await counting.counts(in: zoneID)
    }
}
