import ArgumentParser
import DataTransfer
import JSON
import Records

struct SnapshotDeleteCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Delete a snapshot.",
        discussion: """
            The records of the environment stay.

            Example:
              skylight snapshot delete 'Before the migration' \\
                --container iCloud.com.example.App --yes
            """)

    @Argument(help: "The snapshot.")
    var name: String

    @Flag(help: "Confirm it. A deleted snapshot can't be restored.")
    var yes = false

    @OptionGroup var options: SnapshotOptions

    func run() throws {
        let folder = try options.folder()
        let snapshot = try folder.snapshot(named: name)
        guard yes else {
            throw CommandFailure(
                .usage, "The snapshot '\(snapshot.name)' of \(options.place) would be deleted: \(snapshot.words)", code: "CONFIRMATION_NEEDED",
                remedy: "Add --yes to confirm")
        }
        try folder.delete(snapshot)
        if options.store.json { return Output.say { $0.member("deleted", snapshot.name) } }
        Output.say("Deleted '\(snapshot.name)' of \(options.place).")
    }
}
