import ArgumentParser
import Records

/// The options of all commands.
struct CommonOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The folder with the data. (default: $SKYLIGHT_DATA, else \(DataFolder.defaultDescription))", valueName: "dir"))
    var data: String?

    @Option(
        help: ArgumentHelp(
            "Keep the records in this database of PostgreSQL, such as postgres://user@host/database, and the rest in the folder. The password comes from "
                + "$PGPASSWORD, from libpq's password file, or from the address in $SKYLIGHT_STORE. (default: $SKYLIGHT_STORE)",
            valueName: "address"))
    var store: String?

    @Flag(help: "Print results as JSON on standard output, and errors as one JSON object on standard error.")
    var json = false

    var dataFolder: DataFolder { DataFolder(data, store: store) }

    func validate() throws {
        if let store { try StoreAddress.check(store, in: "--store") }
    }
}

/// The options for the database of a command.
struct DatabaseOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The container, such as iCloud.com.example.App.", valueName: "identifier"), transform: { try ContainerID(argument: $0) })
    var container: ContainerID

    @Option(help: "The container's environment.")
    var environment: Environment = .development

    @Option(help: ArgumentHelp("The owner of the private and shared data: a handle such as ada, or a user record name.", valueName: "handle"))
    var user = "developer"

    /// The schemas of the command, and the acting user.
    var schemas: SchemaPlace { SchemaPlace(container: container, user: user) }

    func address(_ scope: DatabaseScope) -> DatabaseAddress {
        DatabaseAddress(container: container, environment: environment, scope: scope)
    }
}

extension ContainerID {
    /// - Throws: `ValidationError` with the format of container identifiers.
    init(argument: String) throws {
        guard let container = ContainerID(argument) else {
            throw ValidationError("a container is 'iCloud.' and then letters, digits, dots, hyphens or underscores, such as iCloud.com.example.App.")
        }
        self = container
    }
}
