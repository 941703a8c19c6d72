import ArgumentParser
import Foundation
import Records

/// The command line tool.
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
            ServeCommand.self, AsICloudCommand.self, ConnectCommand.self, MirrorCommand.self, PushCommand.self,
            ConnectionsCommand.self,
            DisconnectCommand.self, ImportCommand.self, ExportCommand.self, SnapshotCommand.self, MoveCommand.self,
            QueryCommand.self, FetchCommand.self, ChangesCommand.self, SubscriptionsCommand.self,
            NotificationsCommand.self,
            TokenCommand.self, KeyCommand.self, UserCommand.self, AdminCommand.self, SchemaCommand.self,
            ZoneCommand.self,
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
        } catch  where exitCode(for: error).isSuccess {
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

// MARK: - Groups of commands

struct AdminCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "admin", abstract: "Manage the console's administrator, for servers that require credentials.",
        subcommands: [AdminSetPasswordCommand.self])
}

struct AssetsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "assets", abstract: "Verify the files of assets, and delete unused ones.",
        subcommands: [AssetsVerifyCommand.self, AssetsSweepCommand.self])
}

struct KeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key", abstract: "Register, list and revoke the server-to-server keys that sign requests.",
        subcommands: [KeyRegisterCommand.self, KeyListCommand.self, KeyRevokeCommand.self])
}

struct FaultCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rehearse",
        abstract: "Inject CloudKit's rare failures into a running server, to test clients.",
        discussion: """
            skylight rehearse list shows the rehearsals. A rehearsal is on until it is stopped, or until the given number of requests failed. The \
            console shows it on every page, and answers that it changed have the header X-Skylight-Rehearsal. To rehearse with one request only, \
            send the header X-Skylight-Rehearse: pages-of-one.
            """,
        subcommands: [FaultListCommand.self, FaultStartCommand.self, FaultStopCommand.self])
}

struct SchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema",
        abstract: "Export, import, check, compare, deploy and reset record types, fields and indexes.",
        subcommands: [
            SchemaExportCommand.self, SchemaImportCommand.self, SchemaValidateCommand.self, SchemaDiffCommand.self,
            SchemaDeployCommand.self,
            SchemaResetCommand.self,
        ])
}

struct SnapshotCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "snapshot", abstract: "Save, compare, restore and share the state of a container's environment.",
        subcommands: [
            SnapshotSaveCommand.self, SnapshotListCommand.self, SnapshotCompareCommand.self,
            SnapshotRestoreCommand.self, SnapshotDeleteCommand.self,
            SnapshotExportCommand.self, SnapshotImportCommand.self,
        ])
}

struct SubscriptionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscriptions",
        abstract: "List, create and delete a user's subscriptions, which ask for notifications.",
        subcommands: [SubscriptionsListCommand.self, SubscriptionsCreateCommand.self, SubscriptionsDeleteCommand.self])
}

struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Change tokens: explain and expire. API and web auth tokens: create, list and revoke.",
        discussion: """
            There are three kinds of tokens. Change tokens (syncToken) say which changes a client has seen: explain, expire. If a server requires \
            credentials, API tokens (ckAPIToken) identify an app, and web auth tokens (ckWebAuthToken) a user of it: create-api, create-web-auth, \
            list, revoke.
            """,
        subcommands: [
            TokenExplainCommand.self, TokenExpireCommand.self, TokenCreateAPICommand.self,
            TokenCreateWebAuthCommand.self, TokenListCommand.self,
            TokenRevokeCommand.self,
        ])
}

struct UserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user", abstract: "List and delete the users of a server.",
        subcommands: [UserListCommand.self, UserRemoveCommand.self])
}

struct ZoneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "zone", abstract: "List, share, delete and purge record zones.",
        subcommands: [
            ZoneListCommand.self, ZoneShareCommand.self, ZoneUnshareCommand.self, ZoneDeleteCommand.self,
            ZonePurgeCommand.self,
        ])
}
