internal import Accounts
internal import JSON
internal import RecordStore
internal import Records
internal import Text

/// The start page: the containers and the first steps.
struct HomeView: Page {
    static let template = "home"
    static let tab = Tab.home

    struct Row: ViewModel {
        let name: String
        /// A summary of the content. With many containers, it shows only their sizes, which needs no access to their databases.
        let content: String
        /// The reason why the container can't be read.
        let trouble: String?
        let query: String
        let fetch: String
        let changes: String
        let publicQuery: String
        let schema: String
        let production: String
        /// The link to the page of the whole container; `nil` if it offers no actions.
        let whole: String?
    }

    struct Example: ViewModel {
        let path: String
        let type: String
    }

    let title = "Containers"
    let rows: [Row]
    let isEmpty: Bool
    /// An example of a first request.
    let example: Example?
    /// `Containers 101 to 200 of 2,000`; `nil` if the page shows all.
    let shown: String?
    let previous: String?
    let next: String?
    let milliseconds: String

    /// The number of containers per page.
    private static let limit = 100
    /// The maximum number of containers up to which the page opens each one for a summary.
    private static let openedLimit = 12
    /// The number of containers to search for an example if the page does not open each one.
    private static let exampleLimit = 3

    static func load(_ fields: FormFields, console: Console) async throws -> HomeView {
        let stopwatch = Stopwatch()
        let engine = console.engine
        let developer = try People(console.accounts, actingAs: nil).actor
        let all = try await stopwatch.measure { try await engine.containers() }
        let last = max(1, (all.count + limit - 1) / limit)
        let page = min(max(fields["page"].flatMap { Int($0) } ?? 1, 1), last)
        let first = (page - 1) * limit
        let summaries = try await stopwatch.measure { try await Self.summaries(of: Array(all.dropFirst(first).prefix(limit)), engine) }
        var rows: [Row] = []
        for summary in summaries {
            let caller = all.count <= openedLimit ? Caller(userRecordName: developer.userRecordName) : nil
            rows.append(await Row(summary, caller: caller, engine: engine, stopwatch: stopwatch))
        }
        let readable = zip(summaries, rows).filter { $1.trouble == nil }.map(\.0.container)
        let example = await Example(readable.prefix(all.count <= openedLimit ? openedLimit : exampleLimit), console: console)
        func link(_ number: Int) -> String? { number >= 1 && number <= last ? FormFields.url("/", [("page", String(number))]) : nil }
        return HomeView(
            rows: rows, isEmpty: rows.isEmpty, example: example,
            shown: last == 1 ? nil : "Containers \(Digits.grouped(first + 1)) to \(Digits.grouped(first + rows.count)) of \(Digits.grouped(all.count))",
            previous: link(page - 1), next: link(page + 1), milliseconds: stopwatch.elapsed.millisecondsText)
    }

    private static func summaries(of containers: [ContainerID], _ engine: any RecordEngine) async throws -> [ContainerSummary] {
        if let summarizing = engine as? any ContainerSummarizing { return try await summarizing.summaries(of: containers) }
        return containers.map { ContainerSummary(container: $0) }
    }

    /// Creates a container and returns its address.
    static func create(_ fields: FormFields, engine: any RecordEngine, accounts: Accounts) async throws -> String {
        let text = fields["container"]?.trimmingSpaces ?? ""
        guard let container = ContainerID(text) else {
            throw RecordError(.badRequest, "A container name starts with iCloud. and has only letters, digits, dots and hyphens: iCloud.com.example.App")
        }
        let address = DatabaseAddress(container: container, environment: .development, scope: .private)
        let developer = try People(accounts, actingAs: nil).actor
        // A read does not create a container, but an empty save does.
        _ = try await engine.database(address, as: Caller(userRecordName: developer.userRecordName)).modify(ModifyRequest([]))
        return Place(address: address, user: nil, zone: .unspecified).link("query")
    }
}

extension HomeView.Example {
    /// - Returns: `nil` if no container has a type that can be listed.
    fileprivate init?(_ containers: some Sequence<ContainerID>, console: Console) async {
        for container in containers {
            let address = DatabaseAddress(container: container, environment: .development, scope: .private)
            let place = Place(address: address, user: nil, zone: .unspecified)
            do {
                let visit = try await Visit(place, fields: FormFields(), console: console)
                guard let type = try await visit.usualType(), type.isListable else { continue }
                path = "/database/1/\(container)/development/private/records/query"
                self.type = type.name.string
                return
            } catch {
                // An unreadable container can't be the example. Its row shows the error.
                continue
            }
        }
        return nil
    }
}

extension HomeView.Row {
    /// - Parameter caller: the user who reads the container; `nil` for a summary without opening it.
    fileprivate init(_ summary: ContainerSummary, caller: Caller?, engine: any RecordEngine, stopwatch: Stopwatch) async {
        func place(_ environment: Environment, _ scope: DatabaseScope) -> Place {
            Place(address: DatabaseAddress(container: summary.container, environment: environment, scope: scope), user: nil, zone: .unspecified)
        }
        let home = place(.development, .private)
        var (content, reason) = (Self.outside(summary), summary.unreadableBecause?.reason)
        if let caller, reason == nil {
            do {
                content = try await Self.inside(home.address, caller, engine, stopwatch)
            } catch {
                reason = (error as? RecordError)?.reason ?? "\(error)"
            }
        }
        (self.content, trouble) = (content, reason)
        name = summary.container.description
        query = home.link("query")
        fetch = home.link("fetch")
        changes = home.link("changes")
        publicQuery = place(.development, .public).link("query")
        schema = home.link("types")
        production = place(.production, .private).link("query")
        whole = engine is any ContainerEditing ? FormFields.url("/container", [("container", summary.container.description)]) : nil
    }

    private static func outside(_ summary: ContainerSummary) -> String {
        guard let last = summary.lastSave else { return "Nothing saved" }
        return "\(Digits.bytes(summary.bytes)), last saved \(last.utcText)"
    }

    private static func inside(_ address: DatabaseAddress, _ caller: Caller, _ engine: any RecordEngine, _ stopwatch: Stopwatch) async throws -> String {
        let database = try await stopwatch.measure { try await engine.database(address, as: caller) }
        let zoneCount = try await stopwatch.measure { try await database.zones().count }
        var typeCount = 0
        if let editing = database as? any SchemaEditing {
            typeCount = try await stopwatch.measure { try await editing.schema().types.keys.count { $0 != Schema.usersType } }
        }
        return "\(Digits.count(typeCount, "record type")), \(Digits.count(zoneCount, "private zone")) in development"
    }
}
