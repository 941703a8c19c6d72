import ArgumentParser
import JSON
import Records
import RecordStore

/// The target options of an import. They are optional for an export, which contains its origin.
struct ImportPlaceOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The container, such as iCloud.com.example.App. (default for an export: its own)", valueName: "identifier"),
        transform: { try ContainerID(argument: $0) })
    var container: ContainerID?

    @Option(help: "The container's environment. (default: development, or the export's own)")
    var environment: Environment?

    @Option(name: .customLong("database"), help: "The database to import into. (default: private, or the export's own)")
    var scope: DatabaseScope?

    @Option(
        help: ArgumentHelp(
            "The user of the private or shared database: a handle such as ada, or a user record name. (default: developer, or the export's own)",
            valueName: "handle"))
    var user: String?

    @Option(help: ArgumentHelp("The zone, created if missing. (default: the default zone, or the export's own zones)", valueName: "name"))
    var zone: String?

    @Option(help: ArgumentHelp("The owner of the zone, in the shared database.", valueName: "handle"))
    var zoneOwner: String?

    /// - Parameter needsZone: true if the shared database requires a zone with its owner.
    /// - Throws: `ValidationError` if the zone options do not fit the database.
    func check(in scope: DatabaseScope, needsZone: Bool) throws {
        if scope != .private, zone != nil, zoneOwner == nil {
            if scope == .public { throw ValidationError("The public database has only its default zone: remove --zone.") }
            throw ValidationError("In the shared database a zone needs its owner: add --zone-owner.")
        }
        if scope == .shared, zone == nil, needsZone { throw ValidationError("The shared database has only zones of other users: add --zone and --zone-owner.") }
        if scope != .shared, zoneOwner != nil { throw ValidationError("--zone-owner is for zones of other users: add --database shared.") }
    }

    /// The requested zone; `nil` if there is none.
    func zoneID(in store: any OpenStore) async throws -> ZoneID? {
        guard let zone else { return nil }
        guard let zoneOwner else { return ZoneID(zoneName: Name(zone)) }
        return ZoneID(zoneName: Name(zone), ownerRecordName: try await store.caller(named: zoneOwner).userRecordName)
    }
}
