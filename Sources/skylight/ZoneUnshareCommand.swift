import ArgumentParser
import JSON
import Records
import RecordStore

struct ZoneUnshareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unshare", abstract: "Stop sharing a zone with another user.",
        discussion: """
            The other user's shared database then reports the zone as deleted.

            Example:
              skylight zone unshare Household --with ada --container iCloud.com.example.Shopping
            """)

    @Argument(help: "The zone's name.")
    var zone: String

    @Option(name: .customLong("with"), help: ArgumentHelp("The other user.", valueName: "handle"))
    var participant: String

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var store: StoreOptions

    func run() async throws {
        try await store.withStore(isNew: false) { store in
            let target = try await store.existingDatabase(database.address(.private), as: database.user)
            let other = try await store.caller(named: participant).userRecordName
            try await target.stopSharing(ZoneID(zoneName: Name(zone)), with: other)
        }
        if store.json {
            Output.say { writer in
                writer.member("zoneName", zone)
                writer.member("user", participant)
            }
        } else {
            Output.say("\(participant) no longer sees zone \(zone) of \(database.user).")
        }
    }
}
