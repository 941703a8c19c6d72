internal import Accounts
internal import CloudKitRecordStore
package import HTTPServing
internal import HTTPTypes
package import Hummingbird
internal import RecordStore
internal import Records
internal import Workbench

extension Console {
    package static let placePath = "/c/{container}/{environment}/{database}"

    func addStaticFiles(to router: Routes.Group) {
        router.get("/static/{name}") { request, context in try staticFile(context.parts[1], version: nil, request) }
        router.get("/static/{version}/{name}") { request, context in try staticFile(context.parts[2], version: context.parts[1], request) }
    }

    private func staticFile(_ name: Substring, version: Substring?, _ request: Request) throws -> Response {
        guard let response = renderer.staticFiles.response(String(name), version: version.map(String.init), to: request) else { throw HTTPError(.notFound) }
        return response
    }

    /// Adds the pages outside of any container.
    func addServerPages(to router: Routes.Group) {
        router.get("/") { request, _ in
            let page = try await HomeView.load(request.queryFields, server: request.ownOrigin, console: self)
            return try renderer.response(page, in: Frame(title: page.title, staticFiles: renderer.staticFiles))
        }
        router.post("/containers") { request, _ in
            let fields = try await request.form(.names)
            do {
                return Response.redirect(to: try await HomeView.create(fields, engine: engine, accounts: accounts))
            } catch let error as RecordError where error.code == .badRequest {
                let refused = RefusedForm(error, typed: fields["container"] ?? "")
                return try answer(.page(try await HomeView.load(FormFields(), server: request.ownOrigin, console: self, refused: refused)))
            }
        }
        if let loadDemo {
            router.post("/demo") { request, _ in
                _ = try await request.form(.names)
                try await loadDemo()
                return Response.redirect(to: "/")
            }
        }
        router.get("/find") { request, _ in
            try answer(try await Finder.answer(request.queryFields, console: self))
        }
        router.get("/find/list") { request, _ in
            try answer(.page(try await FindView.load(request.queryFields, console: self)))
        }
    }

    /// Adds the pages for a whole container. They are not part of a place (container, environment, database), because the actions may delete it.
    func addContainerPages(to router: Routes.Group) {
        router.get("/container") { request, _ in
            try answer(.page(try await ContainerView.load(request.queryFields, console: self)))
        }
        router.post("/containers/rename") { request, _ in
            try answer(try await ContainerView.rename(try await request.form(.names), console: self))
        }
        router.post("/containers/delete") { request, _ in
            try answer(try await ContainerView.delete(try await request.form(.names), console: self))
        }
    }

    /// Adds the addresses that end before a page. They lead to Sync, the home of a container.
    func addShortAddresses(to router: Routes.Group) {
        for path in ["/c/{container}", "/c/{container}/{environment}", Self.placePath] {
            router.get(path) { request, context in
                let parts = context.parts.map(String.init)
                guard let container = ContainerID(parts[1]), let environment = parts.count > 2 ? Records.Environment(rawValue: parts[2]) : .development,
                    let scope = parts.count > 3 ? DatabaseScope(rawValue: parts[3]) : .private
                else { throw HTTPError(.notFound) }
                let address = DatabaseAddress(container: container, environment: environment, scope: scope)
                let place = Place(address: address.reached(by: accounts.connections(of: container)), user: request.queryFields.text("user"), zone: .unspecified)
                return Response.redirect(to: place.link(Tab.sync.rawValue))
            }
        }
    }

    private func answer(_ answer: Answer) throws -> Response {
        switch answer {
        case .redirect(let location): .redirect(to: location)
        case .page(let page): try renderer.response(page, in: Frame(title: page.title, staticFiles: renderer.staticFiles))
        }
    }

    /// Adds a page of a place. An error appears within the page frame, with links back.
    /// - Parameter readsZones: true if the page shows the zones. iCloud is not asked for them otherwise.
    package func show(
        _ page: String, on router: Routes.Group, readsZones: Bool = false, _ answer: @escaping @Sendable (Visit) async throws -> Answer
    ) {
        router.get("\(Self.placePath)/\(page)") { request, context in
            // Somebody waits for the page as a whole, however many requests it takes. Forms and downloads may take as long as their records do.
            let stopwatch = Stopwatch(cloudKitWithin: CloudKitMeter.pageTime)
            let visit = try await Visit(request, context, fields: request.queryFields, console: self, readsZones: readsZones, stopwatch: stopwatch)
            return try await response(to: visit) { try await answer(visit) }
        }
    }

    /// Adds a form that changes data and then redirects to the address that the action returns. It carries choices.
    package func act(
        _ path: String, on router: Routes.Group, _ traits: Set<FormTrait> = [], _ action: @escaping @Sendable (Visit) async throws -> String
    ) {
        submit(path, carries: .choices, on: router, traits) { .redirect(try await action($0)) }
    }

    /// How a form differs from others.
    package enum FormTrait: Sendable {
        /// The action may run so long that it must stop when the client disconnects.
        case takesLong
        /// The page of the answer shows the zones.
        case readsZones
        /// Only clients on the server's own machine may send it.
        case fromThisMachineOnly
        /// The answer may have a secret that is shown once, so no cache may keep it.
        case showsSecret
    }

    /// Adds a form that changes data and then redirects, or answers with its page, which says what was refused.
    package func submit(
        _ path: String, carries limit: FormLimit, on router: Routes.Group, _ traits: Set<FormTrait> = [],
        _ action: @escaping @Sendable (Visit) async throws -> Answer
    ) {
        router.post("\(Self.placePath)/\(path)") { request, context in
            if traits.contains(.fromThisMachineOnly) { try checkPeer(of: request, context) }
            let fields = try await request.form(limit)
            let visit = try await Visit(request, context, fields: fields, console: self, readsZones: traits.contains(.readsZones))
            var response = try await response(to: visit) {
                traits.contains(.takesLong) ? try await context.lengthy { try await action(visit) } : try await action(visit)
            }
            if traits.contains(.showsSecret) { response.headers[.cacheControl] = "no-store" }
            return response
        }
    }

    /// The longest text in a link, in bytes: servers and mail programs usually accept it.
    private static let linkLimit = 1_500

    /// Adds the form of a page that only reads. A short one redirects to a link that users can keep and send. A longer one, and one with a
    /// credential, which no address holds, is answered with the page itself.
    /// - Parameter names: the fields of the link; `nil` for all that have a value.
    package func ask(
        _ page: String, _ names: [String]? = nil, carries limit: FormLimit, on router: Routes.Group, _ traits: Set<FormTrait> = [],
        _ answer: @escaping @Sendable (Visit) async throws -> any Page
    ) {
        submit(page, carries: limit, on: router, traits) { visit in
            let sent = visit.fields.pairs.filter { pair in !pair.value.isEmpty && names.map { $0.contains(pair.name) } ?? true }
            let isShort = sent.reduce(0) { $0 + $1.value.utf8.count } <= Self.linkLimit
            let isForLinks = isShort && !sent.contains { PastedValue($0.value).holdsCredential }
            return isForLinks ? .redirect(visit.place.link(page, sent)) : .page(try await answer(visit))
        }
    }

    /// A change of a container in iCloud that nobody has confirmed becomes a question here, whatever form it is of.
    package func response(to visit: Visit, _ answer: () async throws -> Answer) async throws -> Response {
        let page: any Page
        do {
            if let refusal = visit.refusal { throw refusal }
            switch try await CloudKitMeter.$current.withValue(visit.stopwatch.cloudKit, operation: answer) {
            case .redirect(let location): return .redirect(to: location)
            case .page(let answered): page = answered
            }
        } catch let change as UnconfirmedChange {
            page = ConfirmationView(changing: change.connection, visit)
        } catch let error as RecordError where visit.connection != nil && RecordError.missingInCloudKit(error) != nil {
            page = UntoldView(error, visit)
        } catch let error as RecordError {
            // A refused form names the page that it was on.
            let form = Place.local(visit.fields["from"]).map { Frame.Link(text: "Back", href: $0) }
            page = ErrorView(error, back: form ?? Frame.Link(text: "Back to the records", href: visit.place.link(Tab.query.rawValue)))
        }
        let states = await SectionStates(visit, check: runs.check(of: visit.place), faults: faults.running.count)
        let frame = Frame(title: page.title, tab: page.frameTab, visit: visit, states: states, staticFiles: renderer.staticFiles)
        return try renderer.response(page, in: frame)
    }

    /// - Throws: `RecordError` ACCESS_DENIED for clients on other machines, because injected faults affect all clients.
    package func checkPeer(of request: Request, _ context: ServingRequestContext) throws {
        guard context.isFromThisMachine(request) else {
            throw RecordError(
                .accessDenied, "Rehearsals are allowed only for clients on the server's own machine, without a proxy; use an SSH tunnel")
        }
    }
}
