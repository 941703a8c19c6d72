import ArgumentParser
import Records
import RecordStore

struct ZoneDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Delete a zone and its records, like a client does.",
        discussion: """
            Other clients see a deletion.

            Example:
              skylight zone delete Drafts --container iCloud.com.example.Chat --yes
            """)

    @OptionGroup var options: ZoneRemovalOptions

    func run() async throws {
        try await options.run(participle: "deleted") { database in
            for outcome in try await database.modifyZones([.delete(options.zoneID)]) { _ = try outcome.get() }
        }
    }
}
