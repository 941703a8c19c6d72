internal import Accounts
internal import JSON
internal import RecordStore
internal import Records

/// The start page: the containers there are, and how to begin.
struct HomeView: Page {
    static let template = "home"
    static let tab = Tab.home

    struct Row: ViewModel {
        let name: String
        let types: String
        let zones: String
        let query: String
        let fetch: String
        let changes: String
        let publicQuery: String
        let schema: String
        let production: String
        /// The page of the container as a whole; `nil` where nothing can be done to it.
        let whole: String?
    }

    struct Example: ViewModel {
        let path: String
        let type: String
    }

    let title = "Containers"
    let rows: [Row]
    let isEmpty: Bool
    /// A request to begin with.
    let example: Example?
    let milliseconds: String

    static func load(_ console: Console) async throws -> HomeView {
        let stopwatch = Stopwatch()
        let engine = console.engine
        let developer = try People(console.accounts, actingAs: nil).actor
        let containers = try await stopwatch.measure { try await engine.containers() }
        var rows: [Row] = []
        for container in containers {
            rows.append(try await Row(container, caller: Caller(userRecordName: developer.userRecordName), engine: engine, stopwatch: stopwatch))
        }
        let example = try await Example(containers, console: console)
        return HomeView(rows: rows, isEmpty: rows.isEmpty, example: example, milliseconds: stopwatch.elapsed.millisecondsText)
    }

    /// Makes a container and goes there.
    static func create(_ fields: FormFields, engine: any RecordEngine, accounts: Accounts) async throws -> String {
        let text = fields["container"]?.trimmedSpaces ?? ""
        guard let container = ContainerID(text) else {
            throw RecordError(.badRequest, "A container's name starts with iCloud. and goes on with letters, digits, dots and hyphens: iCloud.com.example.App")
        }
        let address = DatabaseAddress(container: container, environment: .development, scope: .private)
        let developer = try People(accounts, actingAs: nil).actor
        _ = try await engine.database(address, as: Caller(userRecordName: developer.userRecordName)).zones()
        return Place(address: address, user: nil, zone: .unspecified).link("query")
    }
}

extension HomeView.Example {
    /// - Returns: `nil` when no container has a type that can be listed.
    fileprivate init?(_ containers: [ContainerID], console: Console) async throws {
        for container in containers {
            let address = DatabaseAddress(container: container, environment: .development, scope: .private)
            let place = Place(address: address, user: nil, zone: .unspecified)
            let visit = try await Visit(place, fields: FormFields(), console: console)
            guard let type = try await visit.usualType(), type.isListable else { continue }
            path = "/database/1/\(container)/development/private/records/query"
            self.type = type.name.string
            return
        }
        return nil
    }
}

extension HomeView.Row {
    fileprivate init(_ container: ContainerID, caller: Caller, engine: any RecordEngine, stopwatch: Stopwatch) async throws {
        func place(_ environment: Environment, _ scope: DatabaseScope) -> Place {
            Place(address: DatabaseAddress(container: container, environment: environment, scope: scope), user: nil, zone: .unspecified)
        }
        let home = place(.development, .private)
        let database = try await stopwatch.measure { try await engine.database(home.address, as: caller) }
        let zoneCount = try await stopwatch.measure { try await database.zones().count }
        var typeCount = 0
        if let editing = database as? any SchemaEditing {
            typeCount = try await stopwatch.measure { try await editing.schema().types.keys.count { $0 != Schema.usersType } }
        }
        name = container.description
        types = Digits.count(typeCount, "record type")
        zones = Digits.count(zoneCount, "zone")
        query = home.link("query")
        fetch = home.link("fetch")
        changes = home.link("changes")
        publicQuery = place(.development, .public).link("query")
        schema = home.link("types")
        production = place(.production, .private).link("query")
        whole = engine is any ContainerEditing ? FormFields.url("/container", [("container", container.description)]) : nil
    }
}
