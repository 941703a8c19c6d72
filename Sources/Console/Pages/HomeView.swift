internal import Accounts
internal import HTTPServing
package import HTTPTypes
internal import RecordStore
internal import Records

/// The start page: the server, its containers, the latest requests, and a first request. An empty server offers three
/// ways to fill it.
package struct HomeView: Page {
    package static let template = "home"
    package static let tab = Tab.home

    struct Row: ViewModel {
        let name: String
        /// `iCloud` for a connected container.
        let badge: String?
        /// A summary of the content. With many containers, it shows only their sizes, which needs no access to their
        /// databases.
        var content: String
        /// The reason why the container can't be read.
        var trouble: String?
        /// How far its clients are.
        let sync: String
        let query: String
        let fetch: String
        /// `nil` if the connection reaches the public database only, which has no feed.
        let changes: String?
        let publicQuery: String
        /// `nil` if CloudKit does not tell the schema.
        let schema: String?
        /// `nil` if production is not connected.
        let production: String?
        /// The mirror of a connected container.
        let mirror: String?
        /// The link to the page of the whole container; `nil` if it offers no actions.
        let whole: String?
    }

    package let title = "A local CloudKit server"
    /// The server's address, as the browser used it.
    let server: String
    /// True if this console can load the demo data.
    let offersDemo: Bool
    let rows: [Row]
    let isEmpty: Bool
    /// The page that connects containers in iCloud; `nil` if this console can't.
    let connect: String?
    /// A first request to one of the containers, or to the one that it creates.
    let client: ClientSnippets
    let latest: LatestRequests?
    /// The container that the form of an empty server suggests.
    let suggestion: String
    /// The form for a new container, if it was refused.
    let refused: RefusedForm?
    /// `Containers 101 to 200 of 2,000`; `nil` if the page shows all.
    let shown: String?
    let previous: String?
    let next: String?

    /// The number of containers per page.
    private static let limit = 100
    /// The maximum number of containers up to which the page opens each one for a summary.
    private static let openedLimit = 12
    /// The number of containers to search for an example if the page does not open each one.
    private static let exampleLimit = 3
    /// The pages on which a new container may begin.
    private static let firstPages: [Tab] = [.query, .schema, .importing]

    package var status: HTTPResponse.Status { refused == nil ? .ok : .badRequest }

    package static func show(_ asked: ConsoleRequest) async throws -> Answer {
        .page(try await load(asked.query, asked))
    }

    /// Fills an empty server.
    package static func loadDemo(_ asked: ConsoleRequest) async throws -> Answer {
        _ = try await asked.form()
        try await asked.console.required(asked.console.loadDemo)()
        return .redirect("/")
    }

    private static func load(
        _ fields: FormFields, _ asked: ConsoleRequest, refused: RefusedForm? = nil
    ) async throws -> HomeView {
        let (console, server, stopwatch) = (asked.console, asked.request.ownOrigin, asked.stopwatch)
        let engine = console.engine
        let all =
            engine.can(.listContainers)
            ? try await stopwatch.measure { try await engine.require(.listContainers).containers() } : []
        let last = max(1, (all.count + limit - 1) / limit)
        let page = fields.number("page", in: 1...last) ?? 1
        let start = (page - 1) * limit
        let summaries = try await stopwatch.measure {
            try await Self.summaries(of: Array(all.dropFirst(start).prefix(limit)), engine)
        }
        var rows: [Row] = []
        var client: ClientSnippets?
        let opensAll = all.count <= openedLimit
        var left = opensAll ? openedLimit : exampleLimit
        for summary in summaries {
            let home = place(summary.container, .development, .private)
            let connections = console.connections == nil ? [] : console.accounts.connections(of: summary.container)
            // A container in iCloud is not asked for a list of containers.
            if !connections.isEmpty {
                rows.append(Row(connections, home: home))
                continue
            }
            var row = Row(summary, home: home, engine: engine)
            if row.trouble == nil, left > 0, opensAll || client == nil {
                left -= 1
                do {
                    let visit = try await Visit(
                        home, fields: FormFields(), console: console, containers: all, stopwatch: stopwatch)
                    if opensAll {
                        let zones = Digits.count(visit.zones.count, "private zone")
                        row.content = "\(Digits.count(visit.ownTypes.count, "record type")), \(zones) in development"
                    }
                    if client == nil { client = await ClientSnippets(visit, server: server) }
                } catch {
                    // With many containers, the rows show only what the files tell.
                    if opensAll { row.trouble = (error as? RecordError)?.reason ?? "\(error)" }
                }
            }
            rows.append(row)
        }
        func link(_ number: Int) -> String? {
            number >= 1 && number <= last ? FormFields.url("/", [("page", String(number))]) : nil
        }
        let suggestion = "iCloud.com.example.App"
        let first = try all.first ?? container(named: suggestion)
        return HomeView(
            server: server, offersDemo: console.loadDemo != nil, rows: rows, isEmpty: rows.isEmpty,
            connect: console.connections == nil ? nil : "/connect",
            client: client ?? ClientSnippets(place(first, .development, .private), server: server),
            latest: LatestRequests(console.log, in: all),
            suggestion: suggestion, refused: refused,
            shown: last == 1
                ? nil
                : "Containers \(Digits.grouped(start + 1)) to \(Digits.grouped(start + rows.count)) of \(Digits.grouped(all.count))",
            previous: link(page - 1), next: link(page + 1))
    }

    fileprivate static func place(_ container: ContainerID, _ environment: Environment, _ scope: DatabaseScope) -> Place
    {
        Place(
            address: DatabaseAddress(container: container, environment: environment, scope: scope), user: nil,
            zone: .unspecified)
    }

    private static func summaries(of containers: [ContainerID], _ engine: any RecordEngine) async throws
        -> [ContainerSummary]
    {
        if engine.can(.summarizeContainers) {
            return try await engine.require(.summarizeContainers).summaries(of: containers)
        }
        return containers.map { ContainerSummary(container: $0) }
    }

    /// Creates a container, and leads to the page to begin with.
    package static func create(_ asked: ConsoleRequest) async throws -> Answer {
        let fields = try await asked.form()
        do {
            return .redirect(try await create(fields, asked.console))
        } catch let error as RecordError where error.code == .badRequest {
            let refused = RefusedForm(error, typed: fields["container"] ?? "")
            return .page(try await load(FormFields(), asked, refused: refused))
        }
    }

    private static func create(_ fields: FormFields, _ console: Console) async throws -> String {
        let container = try container(named: fields["container"]?.trimmingSpaces ?? "")
        let home = place(container, .development, .private)
        let developer = try People(console.accounts, actingAs: nil).actor
        // A read does not create a container, but an empty save does.
        _ = try await console.engine.database(home.address, as: Caller(userRecordName: developer.userRecordName))
            .modify(
                ModifyRequest([]))
        let begin = firstPages.first { Name($0.rawValue) == Name(fields["then"] ?? "") } ?? .query
        return home.link(begin.rawValue)
    }

    private static func container(named name: String) throws -> ContainerID {
        guard let container = ContainerID(name) else {
            throw RecordError(
                .badRequest,
                "A container name starts with iCloud. and has only letters, digits, dots and hyphens: iCloud.com.example.App"
            )
        }
        return container
    }
}

extension ClientSnippets {
    /// - Returns: `nil` if the container has no type that can be listed.
    fileprivate init?(_ visit: Visit, server: String) async {
        guard let type = visit.usualType(await visit.recordCounts()), type.isListable else { return nil }
        self.init(visit.place, server: server, querying: type.name)
    }
}

extension HomeView.Row {
    /// A connected container. CloudKit does not tell its content.
    fileprivate init(_ connections: [ContainerConnection], home: Place) {
        func there(_ environment: Environment, _ scope: DatabaseScope) -> Place {
            let wanted = DatabaseAddress(container: home.address.container, environment: environment, scope: scope)
            return home.with { $0.address = wanted.reached(by: connections) }
        }
        let main = there(.development, .private)
        name = home.address.container.description
        badge = "iCloud"
        content = connections.map { connection in
            "\(connection.environment.rawValue), \(connection.isReadOnly ? "read-only" : "writable"), with \(connection.credentials)"
        }.joined(separator: "; ")
        trouble = nil
        sync = main.link(Tab.sync.rawValue)
        query = main.link("query")
        fetch = main.link("fetch")
        changes = main.hasFeed ? main.link("changes") : nil
        publicQuery = there(main.address.environment, .public).link("query")
        schema = nil
        let hasBoth = connections.count > 1
        production = hasBoth ? there(.production, .private).link("query") : nil
        mirror = main.link("mirror")
        whole = "/connect"
    }

    fileprivate init(_ summary: ContainerSummary, home: Place, engine: any RecordEngine) {
        content = summary.lastSave.map { "\(Digits.bytes(summary.bytes)), last saved \($0.utcText)" } ?? "Nothing saved"
        trouble = summary.unreadableBecause?.reason
        name = summary.container.description
        (badge, mirror) = (nil, nil)
        sync = home.link(Tab.sync.rawValue)
        query = home.link("query")
        fetch = home.link("fetch")
        changes = home.link("changes")
        publicQuery = HomeView.place(summary.container, .development, .public).link("query")
        schema = home.link("types")
        production = HomeView.place(summary.container, .production, .private).link("query")
        whole =
            engine.can(.editContainers)
            ? FormFields.url("/container", [("container", summary.container.description)]) : nil
    }
}
