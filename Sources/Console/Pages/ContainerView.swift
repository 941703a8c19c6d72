internal import Accounts
internal import AssetStore
internal import HTTPServing
internal import Hummingbird
internal import RecordStore
internal import Records

/// The page of a whole container: its content, and the actions to rename and delete it.
package enum ContainerView {
    package static func show(_ asked: ConsoleRequest) async throws -> Answer {
        .page(try await page(try await container(asked.query, asked.console), asked))
    }

    /// An address that ends before a page leads to Sync, the home of a container.
    package static func leadToSync(_ asked: ConsoleRequest) throws -> Answer {
        let parts = asked.context.parts.map(String.init)
        guard let container = ContainerID(parts[1]),
            let environment = parts.count > 2 ? Records.Environment(rawValue: parts[2]) : .development,
            let scope = parts.count > 3 ? DatabaseScope(rawValue: parts[3]) : .private
        else { throw HTTPError(.notFound) }
        let address = DatabaseAddress(container: container, environment: environment, scope: scope)
        let place = Place(
            address: address.reached(by: asked.console.accounts.connections(of: container)),
            user: asked.query.text("user"), zone: .unspecified)
        return .redirect(place.link(Tab.sync.rawValue))
    }

    /// Renames the container.
    package static func rename(_ asked: ConsoleRequest) async throws -> Answer {
        let (console, fields) = (asked.console, try await asked.form())
        let container = try await container(fields, console)
        let typed = fields["newName"]?.trimmingSpaces ?? ""
        do {
            guard let name = ContainerID(typed) else {
                throw RecordError(
                    .badRequest,
                    "A container name starts with iCloud. and has only letters, digits, dots and hyphens: iCloud.com.example.App"
                )
            }
            if name == container { return .redirect("/") }
            try console.engine.require(.editContainers)
            // Checks for a conflict before the rename closes requests in progress.
            let others = try await console.engine.require(.listContainers).containers().filter { $0 != container }
            if let taken = others.first(where: { $0.description.lowercased() == name.description.lowercased() }) {
                throw RecordError.containerExists(taken)
            }
            try await console.assets.withClosed([container, name]) {
                try await console.engine.require(.editContainers).renameContainer(container, to: name)
            }
            try await console.accounts.moveQueriesAndTitles(of: container, to: name)
            try await console.accounts.moveCredentials(of: container, to: name)
        } catch let error as RecordError {
            return .page(try await page(container, newName: typed, complaint: error, asked))
        }
        return .redirect("/")
    }

    /// Deletes the container, if the confirmation input matches its name.
    package static func delete(_ asked: ConsoleRequest) async throws -> Answer {
        let (console, fields) = (asked.console, try await asked.form())
        let container = try await container(fields, console)
        do {
            guard Name(fields["typed"]?.trimmingSpaces ?? "") == Name(container.description) else {
                throw RecordError(
                    .badRequest, "Nothing was deleted: type the container's name, \(container), to confirm")
            }
            try console.engine.require(.editContainers)
            // Removes the credentials first: a client that keeps sending requests creates the container anew, and must
            // not have access to it.
            try await console.accounts.removeCredentials(of: container)
            try await console.assets.withClosed([container]) {
                try await console.engine.require(.editContainers).deleteContainer(container)
            }
            try await console.accounts.removeQueriesAndTitles(of: container)
        } catch let error as RecordError {
            return .page(try await page(container, complaint: error, asked))
        }
        return .redirect("/")
    }

    // MARK: Parts

    /// - Throws: ``MissingPage`` if the container does not exist. Does not create it.
    private static func container(_ fields: FormFields, _ console: Console) async throws -> ContainerID {
        guard let container = fields["container"].flatMap({ ContainerID($0) }), try await console.engine.has(container)
        else {
            throw MissingPage("There is no container with this name. It may have been renamed or deleted.")
        }
        if console.connections != nil, !console.accounts.connections(of: container).isEmpty {
            throw MissingPage(
                "\(container) is in iCloud, where Skylight can't rename or delete it. The page Connected containers forgets its connection."
            )
        }
        return container
    }

    private static func page(
        _ container: ContainerID, newName: String? = nil, complaint: RecordError? = nil, _ asked: ConsoleRequest
    ) async throws -> ComponentPage {
        let (console, stopwatch) = (asked.console, asked.stopwatch)
        let developer = try People(console.accounts, actingAs: nil).actor
        let caller = Caller(userRecordName: developer.userRecordName)
        var environments = Records.Environment.allCases
        if console.engine.can(.listEnvironments) {
            environments = try await console.engine.require(.listEnvironments).environments(of: container)
        }
        var contents: [Facts.Fact] = []
        for environment in environments {
            let address = DatabaseAddress(container: container, environment: environment, scope: .private)
            let database = try await console.engine.database(address, as: caller)
            contents.append(
                Facts.Fact(Inline(environment.rawValue), Inline(try await words(on: database, stopwatch))))
        }
        if contents.isEmpty { contents = [Facts.Fact("nothing", "no data in any environment")] }
        let home = Place(
            address: DatabaseAddress(container: container, environment: .development, scope: .private), user: nil,
            zone: .unspecified)
        let name = container.description
        let hidden = [Frame.Hidden(name: "container", value: name)]
        return ComponentPage(
            nil,
            PageHead(
                name, crumb: "container",
                actions: [
                    .button("Records", home.link(Tab.query.rawValue)),
                    .button("Snapshots", home.link(Tab.snapshots.rawValue)), .button("All containers", "/"),
                ]),
            (complaint.map { [Note(refusing: PageError($0))] } ?? []) + [
                Section("holds", "Contents", style: "panel", [Facts(contents)]),
                Section(
                    "rename", "Rename", style: "panel",
                    [
                        Paragraph(
                            "A client that still uses the old name creates a new, empty container. Change tokens stay valid; download URLs do not."
                        ),
                        Form(
                            .line, "/containers/rename", hidden: hidden,
                            [
                                FormField(
                                    .longCode, "newName", "New name", value: newName ?? name, limit: 155,
                                    isRequired: true,
                                    isLabelled: false)
                            ], button: "Rename"),
                    ]),
                Section(
                    "delete", "Delete", style: "panel",
                    [
                        Paragraph(
                            "This deletes all records, zones and files of all users in both environments, and the schema. It can’t be undone, and snapshots are deleted too: download first what you need."
                        ),
                        Form(
                            .line, "/containers/delete", hidden: hidden,
                            [
                                FormField(
                                    .longCode, "typed", "Type its name", placeholder: name, limit: 155, isRequired: true
                                )
                            ], button: "Delete the container", buttonStyle: "go danger"),
                    ]),
            ], foot: PageFooter())
    }

    /// What an environment holds.
    private static func words(on database: any RecordDatabase, _ stopwatch: Stopwatch) async throws -> String {
        guard database.can(.showSchema) else { return "–, –" }
        let names = try await stopwatch.measure {
            try await database.require(.showSchema).schema().types.keys.filter { $0 != Schema.usersType }
        }
        let types = Digits.count(names.count { $0 != Share.recordType }, "record type")
        guard database.can(.measureTypes) else { return "\(types), –" }
        var count = 0
        for name in names {
            count += try await stopwatch.measure {
                try await database.require(.measureTypes).valueCounts(of: [], in: name).records
            }
        }
        return "\(types), \(Digits.count(count, "record")) of all users"
    }
}
