import ArgumentParser
import Records

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
        commandName: "schema", abstract: "Export, import, check, compare, deploy and reset record types, fields and indexes.",
        subcommands: [
            SchemaExportCommand.self, SchemaImportCommand.self, SchemaValidateCommand.self, SchemaDiffCommand.self, SchemaDeployCommand.self,
            SchemaResetCommand.self,
        ])
}

struct SnapshotCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "snapshot", abstract: "Save, compare, restore and share the state of a container's environment.",
        subcommands: [
            SnapshotSaveCommand.self, SnapshotListCommand.self, SnapshotCompareCommand.self, SnapshotRestoreCommand.self, SnapshotDeleteCommand.self,
            SnapshotExportCommand.self, SnapshotImportCommand.self,
        ])
}

struct SubscriptionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "subscriptions", abstract: "List, create and delete a user's subscriptions, which ask for notifications.",
        subcommands: [SubscriptionsListCommand.self, SubscriptionsCreateCommand.self, SubscriptionsDeleteCommand.self])
}

struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token", abstract: "Change tokens: explain and expire. API and web auth tokens: create, list and revoke.",
        discussion: """
            There are three kinds of tokens. Change tokens (syncToken) say which changes a client has seen: explain, expire. If a server requires \
            credentials, API tokens (ckAPIToken) identify an app, and web auth tokens (ckWebAuthToken) a user of it: create-api, create-web-auth, \
            list, revoke.
            """,
        subcommands: [
            TokenExplainCommand.self, TokenExpireCommand.self, TokenCreateAPICommand.self, TokenCreateWebAuthCommand.self, TokenListCommand.self,
            TokenRevokeCommand.self,
        ])
}

struct UserCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "user", abstract: "List and delete the users of a server.", subcommands: [UserListCommand.self, UserRemoveCommand.self])
}

struct ZoneCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "zone", abstract: "List, share, delete and purge record zones.",
        subcommands: [ZoneListCommand.self, ZoneShareCommand.self, ZoneUnshareCommand.self, ZoneDeleteCommand.self, ZonePurgeCommand.self])
}
