import ArgumentParser
import JSON
import Records
import RecordStore

struct ZoneShareCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "share", abstract: "Share a whole zone with another user.",
        discussion: """
            The zone appears in the other user's shared database, under its owner. Sharing again changes the permission.

            Example:
              skylight zone share Household --with ada --container iCloud.com.example.Shopping
            """)

    @Argument(help: "The zone's name.")
    var zone: String

    @Option(name: .customLong("with"), help: ArgumentHelp("The other user. An unknown user is created.", valueName: "handle"))
    var participant: String

    @Option(help: "The permission of the other user.")
    var permission: ZoneParticipant.Permission = .readWrite

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var store: StoreOptions

    func run() async throws {
        try await store.withStore(isNew: false) { store in
            let target = try await store.existingDatabase(database.address(.private), as: database.user)
            let other = try await store.caller(named: participant).userRecordName
            if other == target.caller.userRecordName { throw CommandFailure(.usage, "The zone is \(participant)'s own: share it with another user") }
            let guest = ZoneParticipant(userRecordName: other, permission: permission)
            try await target.share(ZoneID(zoneName: Name(zone)), with: guest, on: store.engine)
        }
        if store.json {
            Output.say { writer in
                writer.member("zoneName", zone)
                writer.member("user", participant)
                writer.member("permission", permission.rawValue)
            }
        } else {
            Output.say("\(participant) now sees zone \(zone) of \(database.user) (\(permission.defaultValueDescription)).")
        }
    }
}
