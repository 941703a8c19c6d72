import ArgumentParser

/// The command line: one file per command.
@main
struct Skylight: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "skylight",
        abstract: "A record server that speaks CloudKit Web Services on your own machine, with a console that shows what CloudKit hides.",
        discussion: """
            First steps:
              skylight serve --demo
                Serves demo data; open the address it prints.
              skylight import cities.csv --type City --name-field id \\
                --container iCloud.com.example.Map
                Brings in your own data.
              skylight schema show --container iCloud.com.example.Map
                Prints the record types and indexes that came of it.

            Data lives in the folder given with --data, else in $SKYLIGHT_DATA, else in \(DataFolder.defaultDescription). One process \
            at a time has it open.

            Exit codes:
              0 done, 1 failed, 64 wrong usage, 65 bad data in a file,
              66 file not there, 69 address not available,
              73 data folder can't be used, 75 in use, try again,
              77 not permitted.
            With --json, errors are one JSON object on standard error.
            """,
        subcommands: [ServeCommand.self, ImportCommand.self, SchemaCommand.self, ZoneCommand.self])

    static func main() async {
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            let command = try parseAsRoot(arguments)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                var command = command
                try command.run()
            }
        } catch where exitCode(for: error).isSuccess {
            // Help was asked for.
            exit(withError: error)
        } catch {
            let wantsJSON = arguments.contains("--json")
            let failure = CommandFailure(error)
            guard let failure else {
                // The parser's own errors come with usage.
                guard wantsJSON else { exit(withError: error) }
                CommandFailure(.usage, message(for: error)).end(asJSON: true)
            }
            failure.end(asJSON: wantsJSON)
        }
    }
}
