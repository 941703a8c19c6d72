package import Accounts
package import AssetStore
package import CloudKitRecordStore
internal import JSON
package import RecordStore
package import Records
package import Traffic

/// One request for a page of a place: its fields, and the data of the place that most pages need.
package struct Visit: Sendable {
    package internal(set) var place: Place
    package internal(set) var fields: FormFields
    package internal(set) var database: any RecordDatabase
    package let engine: any RecordEngine
    /// The containers in iCloud; `nil` if this console can't connect to any.
    package let connections: AskingConnections?
    /// The connection of the place's container; `nil` for a container of this machine.
    package let connection: ContainerConnection?
    /// The connection of the container that the place's container is the mirror of.
    package let origin: ContainerConnection?
    /// The path and the query of the request.
    let target: String
    /// The origin that the request was sent to, such as `http://localhost:8080`.
    package let server: String
    package let accounts: Accounts
    package let assets: AssetStores
    /// The log of web service requests.
    package let log: RequestLog
    package let stopwatch: Stopwatch
    package internal(set) var people: People
    package let containers: [ContainerID]
    /// The zones of the database, the default zone first. Empty for a container in iCloud on pages that do not show them.
    package internal(set) var zones: [Zone]
    /// The reason why the zones of a container in iCloud could not be read.
    package internal(set) var refusal: RecordError?
    /// `nil` if the engine has no readable schema.
    package internal(set) var schema: Schema?

    /// The types that can be queried, by name.
    package var types: [RecordType] {
        schema?.sortedTypes.filter { $0.name != Schema.usersType } ?? []
    }

    /// The types of the app: without the system's, which are users and shares.
    package var ownTypes: [RecordType] { types.filter { $0.name != Share.recordType } }

    package var canEditSchema: Bool {
        place.address.environment == .development && database.can(.editSchema)
    }

    /// The display name of the zone.
    package func zoneName(_ zoneID: ZoneID) -> String {
        zoneID.zoneName.string
    }

    /// The owner of the zone, in the shared database.
    package func ownerName(_ zoneID: ZoneID) -> String? {
        guard place.address.scope == .shared, let owner = zoneID.ownerRecordName else { return nil }
        return "of \(people.name(of: owner))"
    }

    /// True if the zone has a feed of changes.
    package func hasFeed(_ zoneID: ZoneID) -> Bool {
        place.hasFeed && !zoneID.isDefault
    }

    /// The zones with a feed.
    package var customZones: [Zone] { zones.filter { hasFeed($0.zoneID) } }

    /// The database of a container in iCloud, with what other databases do not have.
    package func cloudKit() throws -> CloudKitDatabase? { try connections?.connected(place.address) }

    package func measure<Value: Sendable>(_ body: @Sendable () async throws -> Value) async rethrows -> Value {
        try await stopwatch.measure(body)
    }

    /// The download links for the assets of some records; `nil` if none of them has assets, or the engine keeps no files of this container.
    package func links(toAssetsOf records: some Sequence<StoredRecord>) async throws -> AssetLinks? {
        guard assets.keepsFiles(of: place.address.container), records.contains(where: { $0.fields.mayHoldAssets }) else { return nil }
        return try await measure { try await assets.links(place.address.container, place.address.environment, origin: "") }
    }

    /// The record counts by type in a zone; `nil` if the engine does not count.
    package func counts(in zoneID: ZoneID) async throws -> ZoneCounts? {
        guard database.can(.countRecords) else { return nil }
        return try await database.counts(in: zoneID)
    }
}
