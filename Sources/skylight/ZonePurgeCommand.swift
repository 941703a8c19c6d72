import ArgumentParser
import RecordStore

struct ZonePurgeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "purge", abstract: "Purge a zone, like a user who deletes an app's data in the system settings.",
        discussion: """
            Other clients see a purge, and must not upload the data again. Tokens of the zone expire.

            Example:
              skylight zone purge Chats --container iCloud.com.example.Chat --yes
            """)

    @OptionGroup var options: ZoneRemovalOptions

    func run() async throws {
        try await options.run(participle: "purged") { database in
            try await database.purge(options.zoneID)
        }
    }
}
