import ArgumentParser

struct SchemaCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "schema", abstract: "Export, import, check, compare, deploy and reset record types, fields and indexes.",
        subcommands: [
            SchemaExportCommand.self, SchemaImportCommand.self, SchemaValidateCommand.self, SchemaDiffCommand.self, SchemaDeployCommand.self,
            SchemaResetCommand.self,
        ])
}
