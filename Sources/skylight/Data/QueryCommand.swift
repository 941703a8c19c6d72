import Accounts
import ArgumentParser
import Console
import DataTransfer
import RecordStore
import Records

struct QueryCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "query",
        abstract: "Print the records of a type that match a query.",
        discussion: """
            The query is a text as the console writes it: filters joined by 'and', then 'sort by' and fields. --filter and --sort are its parts; \
            they are added to the text. Without filters, all records of the type match.

            Records come in pages, of which one at a time is in memory. If there are more than --limit, a marker shows where to continue.

            --explain runs one page and prints how it was found: which indexes could help, what was read, and what would make the query \
            cheaper.

            Examples:
              skylight query --container iCloud.com.example.Chat --type Message \\
                'room = Room/general sort by sentAt descending' --limit 10
              skylight query --container iCloud.com.example.Chat --type Message \\
                --filter 'text has words "good morning"' --fields text,sentAt --all --csv
              skylight query --container iCloud.com.example.Chat --type Message \\
                --sort 'sentAt descending' --explain
              skylight query --container iCloud.com.example.Chat --type Message \\
                --as-of 2026-11-29T18:00Z
            """)

    /// Records per page.
    private static let pageSize = 200

    @Argument(
        help: ArgumentHelp(
            "The filters and the sort order, such as 'year > 2020 sort by year'. (default: all records, by name)",
            valueName: "query"))
    var text: String?

    @Option(name: .customLong("type"), help: ArgumentHelp("The record type.", valueName: "name"))
    var recordType: String

    @Option(
        name: .customLong("filter"),
        help: ArgumentHelp(
            "A filter, such as 'year > 2020'. Can be given more than once; all must match. (default: none)",
            valueName: "filter"))
    var filters: [String] = []

    @Option(
        name: .customLong("sort"),
        help: ArgumentHelp(
            "A field to sort by, such as 'year descending'. Can be given more than once. (default: by name)",
            valueName: "field"))
    var sorts: [String] = []

    @Option(
        help: ArgumentHelp("The zone. (default: all zones; in the public database the default zone)", valueName: "name")
    )
    var zone: String?

    @Option(help: ArgumentHelp("The greatest number of records. (default: 50)", valueName: "number"))
    var limit: Int?

    @Flag(help: "Print all matching records.")
    var all = false

    @Option(
        help: ArgumentHelp("Continue behind the records of an earlier run with the same query.", valueName: "marker"))
    var marker: String?

    @Flag(help: "Print how the query is answered, instead of its records.")
    var explain = false

    @OptionGroup var read: ReadOptions

    func validate() throws {
        if all, limit != nil { throw ValidationError("--all prints all records: remove --limit.") }
        if let limit, limit < 1 { throw ValidationError("--limit is at least 1.") }
        if explain, all || read.csv {
            throw ValidationError("--explain explains one page, and prints no records: remove --all and --csv.")
        }
        if explain, read.asOf != nil {
            throw ValidationError("--explain is about the indexes of now: remove --as-of.")
        }
        try read.check(zone)
    }

    func run() async throws {
        try await read.withDatabase { store, database in
            let schema = try await database.part(.showSchema)?.schema()
            let known = schema?.types[Name(recordType)]
            let type = known ?? RecordType(name: Name(recordType))
            let request = QueryRequest(
                try query(of: type), in: try await area(in: store), limit: PageLimit(records: min(Self.pageSize, most)),
                continuationMarker: marker, desiredKeys: read.keys.map { Set($0) })
            let indexes = MissingIndexes(request.query, of: known, in: read)
            if explain {
                let explanation = try await database.require(.explainQueries).explain(request)
                return try say(explanation, try await indexes.needs(explanation.problems, in: store))
            }
            var printed = Printed(marker: marker)
            do {
                try await print(request, of: schema == nil ? nil : type, from: database, &printed)
            } catch let error as RecordError {
                if let schema, printed.count == 0 {
                    // Without the builds, an index that is being built counts as complete.
                    let builds = try? await database.require(.showSchema).indexBuilds()
                    let problems = IndexRules.problems(of: request.query, in: schema, building: builds ?? [])
                    if !problems.isEmpty { throw try await indexes.needs(problems, in: store).failure(error) }
                }
                guard printed.count > 0, let marker = printed.marker, var failure = CommandFailure(error) else {
                    throw error
                }
                // The printed records stay valid, so the marker shows where to continue.
                failure = CommandFailure(
                    failure.status, failure.reason, code: failure.code,
                    remedy: "Continue with --marker \(marker.shellWord)")
                failure.members = { $0.member("continuationMarker", marker) }
                throw failure
            }
        }
    }

    private func area(in store: any CommandData) async throws -> QueryRequest.Area {
        guard let zone else { return read.scope == .public ? .zone(.default) : .allZones }
        return .zone(try await read.zoneID(zone, in: store))
    }

    /// The greatest number of records to print.
    private var most: Int { all ? .max : limit ?? 50 }

    // MARK: Reading the text

    /// - Throws: `CommandFailure` with the place that can't be read.
    private func query(of type: RecordType) throws -> Query {
        var form = QueryForm(FormFields())
        for text in (text.map { [$0] } ?? []) + filters {
            let rows = try rows(of: text, behind: "", type)
            form.filters += rows.filters
            form.sorts += rows.sorts
        }
        for text in sorts { form.sorts += try rows(of: text, behind: "sort by ", type).sorts }
        let checked = CheckedQuery(form, of: type)
        if let problem = checked.firstProblem { throw Self.refusal(problem) }
        return checked.query
    }

    private func rows(of text: String, behind beginning: String, _ type: RecordType) throws -> (
        filters: [QueryForm.Filter], sorts: [QueryForm.Sort]
    ) {
        do {
            return try QueryTextParser.rows(of: beginning + text, type: type)
        } catch {
            let offset = max(0, error.offset - beginning.unicodeScalars.count)
            var failure = Self.refusal(error.reason)
            let line = String(
                String.UnicodeScalarView(text.unicodeScalars.map { $0.properties.isWhitespace ? " " : $0 }))
            failure.details = [line, String(repeating: " ", count: offset) + "^"]
            failure.members = { writer in
                writer.member("query", text)
                writer.member("position", Int64(offset + 1))
            }
            throw failure
        }
    }

    /// A problem of the query. Unlike the console's sentences, the reasons of commands end without a full stop.
    private static func refusal(_ problem: String) -> CommandFailure {
        CommandFailure(.usage, problem.hasSuffix(".") ? String(problem.dropLast()) : problem)
    }

    // MARK: Printing

    /// What was printed before an error.
    private struct Printed {
        var count = 0
        /// The marker behind the printed records.
        var marker: String?
    }

    private func print(
        _ first: QueryRequest, of type: RecordType?, from database: any RecordDatabase, _ printed: inout Printed
    ) async throws {
        var request = first
        let fields = read.keys ?? type.map { QueryField.all(of: $0).filter { !$0.isSystem }.map(\.name) }
        if fields == nil, read.format == .csv { throw RecordPrinter.needsFields }
        var printer: RecordPrinter?
        var cycle = CycleDetector(from: marker)
        var notKnown = NotKnown()
        repeat {
            request.limit.records = min(Self.pageSize, most - printed.count)
            let page = try await database.query(request)
            if printer == nil {
                var columns = RecordFileWriter.Columns(
                    fields: try fields ?? RecordFileWriter.fields(in: page.records),
                    showsZones: request.area == .allZones)
                columns.showsOwners = columns.showsZones && read.scope == .shared
                printer = RecordPrinter(read.format, columns: columns)
            }
            try printer?.say(page.records.map { RecordFileWriter.Item($0) })
            printed.count += page.records.count
            printed.marker = page.continuationMarker
            notKnown += page.notKnown
            request.continuationMarker = page.continuationMarker
            if let marker = page.continuationMarker, cycle.isClosed(by: marker) {
                throw RecordError(known: .pagesInACircle)
            }
        } while request.continuationMarker != nil && printed.count < most
        if !notKnown.isEmpty {
            if read.format == .json { Output.say { notKnown.write(as: "notKnown", into: &$0) } }
            for note in notKnown.notes { Output.note(note) }
        }
        if let marker = printed.marker {
            if read.format == .json { return Output.say { $0.member("continuationMarker", marker) } }
            Output.note("More records match. Add --all, or continue with --marker \(marker.shellWord).")
        } else if printed.count == 0, read.format == .table {
            Output.say("No record matches.")
        }
    }

    // MARK: Explanation

    private func say(_ explanation: QueryExplanation, _ needs: MissingIndexes.Needs) throws {
        read.store.output.say(lines: lines(explanation) + needs.lines) { writer in
            QueryExplanation.form.write(explanation, &writer)
            needs.edits.write(as: "remedy", into: &writer)
            if let command = needs.command { writer.member("command", command) }
        }
    }

    private func lines(_ explanation: QueryExplanation) -> [String] {
        var lines: [String] = []
        if explanation.problems.isEmpty {
            let (entries, records) = (explanation.entriesRead, explanation.recordsRead)
            let work =
                "\(Output.grouped(entries)) index entr\(entries == 1 ? "y" : "ies") and \(Output.grouped(records)) record\(records == 1 ? "" : "s")"
            let milliseconds = (explanation.milliseconds * 100).rounded() / 100
            lines += [
                explanation.summary,
                "Read \(work) for \(Output.grouped(explanation.recordsReturned)) returned, in \(milliseconds) ms."
                    + (explanation.hasMore ? " More records match." : ""),
            ]
        } else {
            lines += explanation.problems.map { "\($0.error.reason)." }
        }
        if !explanation.candidates.isEmpty {
            lines += [""] + Output.lines(table: explanation.candidates, Self.columns)
        }
        for statement in explanation.statements {
            lines += ["", RecordPrinter.line(statement.text)] + statement.plan.map { "  \(RecordPrinter.line($0))" }
        }
        if !explanation.advice.isEmpty {
            let words = explanation.advice.map(\.words).joined(separator: ", ")
            lines += [
                "", "A composite index would halve the reading or better: \(words). Explain in the console adds it.",
            ]
        }
        return lines
    }

    private static var columns: [Output.Column<QueryExplanation.Candidate>] {
        [
            Output.Column("Index") { $0.index.words }, Output.Column("For") { $0.clause },
            Output.Column("Standing") { $0.use.rawValue },
            Output.Column("Entries") { candidate in
                candidate.entries.map { Output.grouped($0) + (candidate.isCutOff ? " or more" : "") } ?? "–"
            },
            Output.Column("Reason") { $0.reason },
        ]
    }
}

// MARK: - Missing indexes

/// The indexes that a query lacks, and the command that adds them.
struct MissingIndexes {
    struct Needs {
        let problems: [QueryProblem]
        /// `nil` if nothing is missing, or there is no such record type.
        var edits: [SchemaEdit]?
        /// What to do about the indexes; `nil` if none helps.
        var remedy: String?
        /// `nil` also if only iCloud can add them.
        var command: String?

        /// The remedy, below the problems.
        var lines: [String] {
            guard let remedy else { return [] }
            return ["", command == nil ? "\(remedy)." : "\(remedy):"] + (command.map { ["  \($0)"] } ?? [])
        }

        /// The refusal of the query.
        func failure(_ error: RecordError) -> any Error {
            guard let plain = CommandFailure(error) else { return error }
            var failure = CommandFailure(plain.status, plain.reason, code: plain.code, remedy: remedy)
            failure.details = problems.map(\.error.reason).filter { $0 != error.reason } + (command.map { [$0] } ?? [])
            failure.members = { [problems, command] writer in
                problems.write(as: "problems", into: &writer)
                if let command { writer.member("command", command) }
            }
            return failure
        }
    }

    private let query: Query
    private let type: RecordType?
    private let read: ReadOptions

    /// - Parameter type: `nil` if it does not exist, or the store does not show its schema.
    init(_ query: Query, of type: RecordType?, in read: ReadOptions) {
        (self.query, self.type, self.read) = (query, type, read)
    }

    func needs(_ problems: [QueryProblem], in store: any CommandData) async throws -> Needs {
        guard let type, !problems.isEmpty else { return Needs(problems: problems) }
        let indexes = IndexNeeds(problems, of: query, type: type)
        var needs = Needs(problems: indexes.problems, edits: indexes.edits(of: type.name))
        if indexes.additions.isEmpty { return needs }
        let container = read.database.container
        if try await store.accounts.connections().contains(where: { $0.container == container }) {
            needs.remedy = "Add the missing indexes in CloudKit Console"
        } else {
            needs.remedy = "This command adds what is missing"
            needs.command = command(adding: indexes, to: type)
        }
        return needs
    }

    private func command(adding indexes: IndexNeeds, to type: RecordType) -> String {
        let fields = indexes.additions.compactMap { key, indexes in
            type.definition(of: key)?.schemaLine(key, adding: indexes)
        }
        let schema = "DEFINE SCHEMA RECORD TYPE \(Schema.quoted(type.name)) (\(fields.joined(separator: ", ")));"
        let common = read.store.common
        var place = ["--container", read.database.container.description.shellWord]
        if let data = common.data { place += ["--data", data.shellWord] }
        if let url = read.store.url { place += ["--url", url.description.shellWord] }
        if let address = common.store { place += ["--store", address.shellWord] }
        let target = place.joined(separator: " ")
        return "echo \(schema.shellQuoted) | skylight schema import --merge --file - \(target)"
            + (read.database.environment == .production ? " && skylight schema deploy \(target)" : "")
    }
}
