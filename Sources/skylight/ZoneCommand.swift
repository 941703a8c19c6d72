import ArgumentParser
import Records

struct ZoneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "zone", abstract: "List, share, delete and purge record zones.",
        subcommands: [ZoneListCommand.self, ZoneShareCommand.self, ZoneUnshareCommand.self, ZoneDeleteCommand.self, ZonePurgeCommand.self])
}
