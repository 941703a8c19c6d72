import ArgumentParser
import Foundation
import Records

/// The command line tool. Each command has its own file; CommandGroups.swift has those that only group others.
@main
struct Skylight: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "skylight",
        abstract: "A local server for CloudKit Web Services, with a console that shows what CloudKit hides.",
        discussion: """
            First steps:
              skylight serve --demo
                Serves demo data; open the address it prints.
              skylight import cities.csv --type City --name-field id \\
                --container iCloud.com.example.Map
                Imports your own data.
              skylight schema export --container iCloud.com.example.Map
                Prints its record types and indexes.
              skylight export --container iCloud.com.example.Map > map.ndjson
                Exports it, for skylight import.

            Data is in the folder given with --data, else in $SKYLIGHT_DATA, else in \(DataFolder.defaultDescription). One process \
            at a time has it open; if that is a server, other commands use the server. --url, else $SKYLIGHT_URL, gives another server.

            Exit codes:
              0 done, 1 failed or different, 64 wrong usage, 65 bad data in a file,
              66 file not found, 69 address or server not available,
              73 data folder can't be used, 74 file can't be written,
              75 in use, try again, 77 not permitted.
            With --json, errors are one JSON object on standard error.
            """,
        version: "skylight \(SkylightVersion.current)",
        subcommands: [
            ServeCommand.self, ConnectCommand.self, MirrorCommand.self, PushCommand.self, ConnectionsCommand.self, DisconnectCommand.self, ImportCommand.self, ExportCommand.self, SnapshotCommand.self, MoveCommand.self, ChangesCommand.self, SubscriptionsCommand.self, NotificationsCommand.self,
             TokenCommand.self, KeyCommand.self, UserCommand.self, AdminCommand.self, SchemaCommand.self, ZoneCommand.self,
            FaultCommand.self, AssetsCommand.self, CheckCommand.self,
        ])

    static func main() async {
        // With the signal ignored, a closed pipe causes a write error, which can be told from other errors.
        signal(SIGPIPE, SIG_IGN)
        let arguments = Array(CommandLine.arguments.dropFirst())
        do {
            let command = try parseAsRoot(arguments)
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                var command = command
                try command.run()
            }
        } catch is BrokenPipe {
            // The reader closed the pipe. Ends the process silently by the signal, as is usual.
            signal(SIGPIPE, SIG_DFL)
            raise(SIGPIPE)
        } catch let code as ExitCode {
            // The command has already printed its output. The status is part of the result.
            Foundation.exit(code.rawValue)
        } catch where exitCode(for: error).isSuccess {
            // The user requested help.
            exit(withError: error)
        } catch {
            let wantsJSON = arguments.contains("--json")
            let failure = CommandFailure(error)
            guard let failure else {
                // The parser's own errors include the usage.
                guard wantsJSON else { exit(withError: error) }
                CommandFailure(.usage, message(for: error)).end(asJSON: true)
            }
            failure.end(asJSON: wantsJSON)
        }
    }
}
