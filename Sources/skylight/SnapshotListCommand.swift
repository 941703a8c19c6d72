import ArgumentParser
import DataTransfer
import JSON
import Records

struct SnapshotListCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the snapshots of an environment, the latest first.",
        discussion: """
            Example:
              skylight snapshot list --container iCloud.com.example.App
            """)

    @OptionGroup var options: SnapshotOptions

    func run() throws {
        let snapshots = try options.folder().all()
        if options.store.json {
            return Output.say { writer in
                writer.name("snapshots")
                writer.array { writer in for snapshot in snapshots { writer.object { $0.members(of: snapshot) } } }
            }
        }
        if snapshots.isEmpty { return Output.say("There are no snapshots of \(options.place). 'skylight snapshot save NAME' saves one.") }
        Output.say(table: [["saved (UTC)", "records", "users", "name"]] + snapshots.map { snapshot in
            [Output.moment(snapshot.saved), Output.grouped(snapshot.recordCount), Output.grouped(snapshot.userCount), snapshot.name]
        })
    }
}
