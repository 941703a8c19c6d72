import ArgumentParser
import Foundation
import RecordStore
import Records

struct SchemaExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Export the schema of a container in CloudKit's schema language (.ckdb).",
        discussion: """
            The text has the format of Apple's tools, which can import it. Equal schemas have equal texts, so a file under version control shows \
            only changes. It has no composite indexes, because CloudKit has none.

            Example:
              skylight schema export --container iCloud.com.example.App \\
                --output schema.ckdb
            """,
        aliases: ["show"])

    @Option(name: .shortAndLong, help: ArgumentHelp("The file to write. (default: standard output)", valueName: "file"))
    var output: String?

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var store: StoreOptions

    func run() async throws {
        let schema = try await store.withStore(isNew: false) {
            try await $0.existingSchema(of: database.environment, in: database.schemas)
        }
        if let output {
            let file = try OutputFile(output)
            do {
                try file.write(Array(schema.text.utf8))
            } catch {
                file.abandon()
                throw error
            }
            try file.finish()
            let types = schema.types.count == 1 ? "1 record type" : "\(schema.types.count) record types"
            store.output.say(
                lines: [],
                notes: ["Exported \(types) of \(database.place) into \(output)."]
            ) { writer in
                writer.member("file", output)
                writer.member("recordTypes", Int64(schema.types.count))
            }
        } else if store.output.isJSON {
            Output.say { $0.member("schema", schema.text) }
        } else {
            try OutputFile.standardOutput.write(Array(schema.text.utf8))
        }
    }
}

// MARK: - Validation

struct SchemaValidateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "validate",
        abstract: "Check a .ckdb file.",
        discussion: """
            Shows all errors with their lines, and ends with exit code 65. Notes are about parts that Apple's tools may refuse.

            With --container, also checks if the file could be imported into development, and exits with code 1 if not, for example because it \
            lacks something that was deployed to production. Changes nothing.

            Examples:
              skylight schema validate --file schema.ckdb
              skylight schema validate --file schema.ckdb \\
                --container iCloud.com.example.App
            """)

    @OptionGroup var input: SchemaFileOptions

    @Option(
        help: ArgumentHelp("The container to check the file against. (default: none)", valueName: "identifier"),
        transform: { try ContainerID(argument: $0) })
    var container: ContainerID?

    @OptionGroup var store: StoreOptions

    func run() async throws {
        let file = try SchemaFile(input.file)
        let plan = if let container { try await plan(file, for: container) } else { nil as SchemaImportPlan? }
        let counts = Counts(file.schema)
        file.sayNotes(on: store.output)
        store.output.say(lines: ["\(file.name) is a valid schema: \(counts)."] + lines(plan)) { writer in
            writer.member("valid", true)
            writer.member("recordTypes", Int64(counts.types))
            writer.member("fields", Int64(counts.fields))
            writer.member("indexes", Int64(counts.indexes))
            writer.member("roles", Int64(counts.roles))
            file.writeNotes(into: &writer)
            if let plan { writer.member("changes", plan.difference) }
        }
    }

    private func lines(_ plan: SchemaImportPlan?) -> [String] {
        guard let plan, let container else { return [] }
        if plan.isEmpty { return ["\(container) (development) already has it."] }
        let (count, losses) = (SchemaChangeLines.count(plan.lines.count), plan.difference.losses.count)
        return [
            "It can be imported into \(container) (development): \(count)"
                + (losses == 0 ? "." : ", of which \(losses) would delete data.")
        ]
    }

    private func plan(_ file: SchemaFile, for container: ContainerID) async throws -> SchemaImportPlan {
        let place = SchemaAccess(container: container)
        return try await store.withStore(isNew: false) { store in
            let development = try await store.existingSchema(of: .development, in: place)
            return try SchemaImportPlan(
                importing: file.schema, into: development, merging: false,
                production: try await store.schema(of: .production, in: place))
        }
    }

    /// The number of elements in a schema.
    private struct Counts: CustomStringConvertible {
        let types, fields, indexes, roles: Int

        init(_ schema: Schema) {
            let all = schema.types.values
            types = all.count
            fields = all.reduce(0) { $0 + $1.fields.count }
            indexes = all.flatMap { Array($0.fields.values.map(\.indexes)) + Array($0.systemIndexes.values) }.reduce(0)
            { $0 + $1.names.count }
            roles = schema.roles.count
        }

        var description: String {
            [(types, "record type"), (fields, "field"), (indexes, "index"), (roles, "role")].map { count, noun in
                "\(Output.grouped(count)) \(noun)" + (count == 1 ? "" : noun == "index" ? "es" : "s")
            }.joined(separator: ", ")
        }
    }
}

// MARK: - Import

struct SchemaImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Replace the development schema with a .ckdb file.",
        discussion: """
            Like in CloudKit, the file replaces the schema: types, fields and indexes that it does not have are deleted, with their records \
            and values. The command first shows what would be deleted, and deletes it only with --yes. Types and fields in production can't be deleted. With --merge \
            the file only adds.

            Indexes of existing records are built in the background. The command waits for them, except with --no-wait. Then a server \
            continues the work; without a server, it continues when the data folder is opened again. Queries that need such an index get \
            TRY_AGAIN_LATER until it is complete.

            Examples:
              skylight schema import --file schema.ckdb --dry-run \\
                --container iCloud.com.example.App
                Only shows the changes.
              skylight schema import --file schema.ckdb --merge \\
                --container iCloud.com.example.App
            """)

    @OptionGroup var input: SchemaFileOptions

    @Flag(help: "Only add what the schema lacks; delete nothing.")
    var merge = false

    @Flag(help: "Change nothing; only show the changes and deletions.")
    var dryRun = false

    @Flag(help: "Confirm deletions. Without this flag they are only shown.")
    var yes = false

    @Flag(inversion: .prefixedNo, help: "Wait until the new indexes are built.")
    var wait = true

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var store: StoreOptions

    func run() async throws {
        let file = try SchemaFile(input.file)
        if database.environment == .production {
            throw CommandFailure(
                .notPermitted, "A schema can't be imported into production",
                remedy: "Import it into development, and deploy it with skylight schema deploy")
        }
        let outcome = try await store.withStore(isNew: !dryRun) { try await carryOut(file, in: $0) }
        say(outcome, of: file)
    }

    private struct Outcome {
        let plan: SchemaImportPlan
        let losses: [SchemaLoss]
        /// The index builds that the command did not wait for.
        var builds: IndexesUnderWay?
    }

    private func carryOut(_ file: SchemaFile, in store: any CommandData) async throws -> Outcome {
        let plan = try await plan(file, in: store)
        let isThere = try await store.engine.has(database.container, .development)
        // A missing environment has nothing to lose, and must not be created by the check.
        let losses = plan.difference.losses.isEmpty || !isThere ? [] : try await losses(of: plan, in: store)
        var outcome = Outcome(plan: plan, losses: losses)
        if dryRun { return outcome }
        if !losses.isEmpty, !yes { throw Self.needsConfirmation(losses) }
        let editing = try await store.schemaDatabase(.development, in: database.schemas)
        if !plan.isEmpty {
            let (edits, waits) = (plan.edits, wait)
            _ = try await store.change(editing, showingProgress: wait) {
                try await $0.require(.editSchema).edit(edits, because: .schemaImport, waitingForIndexes: waits)
            }
        }
        outcome.builds = try await store.indexesUnderWay(editing)
        return outcome
    }

    private func plan(_ file: SchemaFile, in store: any CommandData) async throws -> SchemaImportPlan {
        let production =
            try await store.engine.has(database.container, .production)
            ? try await store.schema(of: .production, in: database.schemas) : nil
        return try SchemaImportPlan(
            importing: file.schema, into: try await store.schema(of: .development, in: database.schemas),
            merging: merge, production: production)
    }

    private func losses(of plan: SchemaImportPlan, in store: any CommandData) async throws -> [SchemaLoss] {
        try await plan.losses(measuredBy: try await store.schemaDatabase(.development, in: database.schemas))
    }

    private static func needsConfirmation(_ losses: [SchemaLoss]) -> CommandFailure {
        var failure = CommandFailure.confirmationNeeded(
            "The import would delete what the file does not have",
            remedy: "Add --yes to confirm, or --merge to only add")
        failure.details = losses.map(\.line)
        failure.members = { $0.member("losses", losses) }
        return failure
    }

    private func say(_ outcome: Outcome, of file: SchemaFile) {
        let plan = outcome.plan
        file.sayNotes(on: store.output)
        store.output.say(
            lines: SchemaChangeLines.lines(for: plan.difference) + SchemaChangeLines.lines(for: plan.respellings)
                + summary(of: outcome, file), notes: outcome.builds.map { [$0.note] } ?? []
        ) { writer in
            writer.member("dryRun", dryRun)
            writer.member("container", database.container.description)
            writer.member("environment", Environment.development.rawValue)
            writer.member("changes", plan.difference)
            writer.member("respellings", plan.respellings)
            writer.member("losses", outcome.losses)
            file.writeNotes(into: &writer)
            writer.member("indexesBeingBuilt", Int64(outcome.builds?.count ?? 0))
        }
    }

    private func summary(of outcome: Outcome, _ file: SchemaFile) -> [String] {
        let (place, count) = ("\(database.container) (development)", outcome.plan.lines.count)
        if count == 0 { return ["\(place) already has the schema of \(file.name)\(merge ? ", or more" : "")."] }
        let result = "\(file.name) into \(place): \(SchemaChangeLines.count(count))."
        if !dryRun { return ["Imported \(result)"] }
        return (outcome.losses.isEmpty ? [] : ["Would be deleted, only with --yes:"])
            + outcome.losses.map { "  \($0.line)" } + ["Would import \(result) Nothing was changed."]
    }
}

// MARK: - File

/// A file in the schema language.
struct SchemaFile {
    /// The size limit of a schema file, in bytes.
    private static let sizeLimit = 64 << 20

    /// The given path, or a name for standard input.
    let name: String
    let schema: Schema
    let notes: [SchemaTextNote]
    /// The number of further notes.
    private let moreNotes: Int

    /// - Parameter path: the path, or `-` for standard input.
    /// - Throws: `CommandFailure` if the file can't be read, or is not a valid schema. Lists each error with its line.
    init(_ path: String) throws {
        let name = path == "-" ? "standard input" : path
        let text = SchemaText(utf8: try Self.bytes(path, name))
        guard text.errors.isEmpty else { throw Self.failure(text.errors, in: name) }
        self.name = name
        schema = try text.schema()
        notes = text.notes
        moreNotes = text.moreNotes
    }

    /// Prints the notes on standard error, except for `--json`, where they are a member of the result.
    func sayNotes(on output: Output) {
        if output.isJSON { return }
        for note in notes { Output.note("Note: \(name):\(note.line):\(note.column): \(note.text)") }
        if moreNotes > 0 { Output.note("… and \(Output.grouped(moreNotes)) more note\(moreNotes == 1 ? "" : "s")") }
    }

    /// Writes the notes and the number of further notes.
    func writeNotes(into writer: inout JSONWriter) {
        writer.member("notes", objects: notes) { writer, note in
            writer.member("line", Int64(note.line))
            writer.member("column", Int64(note.column))
            writer.member("text", note.text)
        }
        if moreNotes > 0 { writer.member("moreNotes", Int64(moreNotes)) }
    }

    private static func bytes(_ path: String, _ name: String) throws -> [UInt8] {
        let descriptor = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw unreadable(name) }
        defer { if path != "-" { close(descriptor) } }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = chunk.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
            if count == 0 { return bytes }
            if count < 0 {
                if errno == EINTR { continue }
                throw unreadable(name)
            }
            bytes += chunk[..<count]
            if bytes.count > sizeLimit {
                throw CommandFailure(
                    .badData, "'\(name)' is too large for a schema: over \(ByteCount(Int64(sizeLimit)))")
            }
        }
    }

    private static func unreadable(_ name: String) -> CommandFailure {
        CommandFailure(.noInput, "'\(name)' can't be read: \(String(cString: strerror(errno)))")
    }

    private static func failure(_ errors: [SchemaTextError], in name: String) -> CommandFailure {
        let count =
            errors.count == 1
            ? "1 error" : "\(errors.count) errors" + (errors.count >= SchemaText.errorLimit ? " or more" : "")
        var failure = CommandFailure(.badData, "\(name) is not a valid schema: \(count)")
        failure.details = errors.map { "\(name):\($0.line):\($0.column): \($0.reason)\n\($0.excerpt)" }
        failure.members = { writer in
            writer.member("errors", objects: errors) { writer, error in
                writer.member("file", name)
                writer.member("line", Int64(error.line))
                writer.member("column", Int64(error.column))
                writer.member("reason", error.reason)
                writer.member("expected", error.expected)
                writer.member("found", error.found)
                if let hint = error.hint { writer.member("hint", hint) }
                writer.member("excerpt", error.excerpt)
            }
        }
        return failure
    }
}

/// The schema file option.
struct SchemaFileOptions: ParsableArguments {
    @Option(
        name: [.long, .customShort("f")],
        help: ArgumentHelp("The schema file (.ckdb); - is standard input.", valueName: "file"))
    var file: String
}
