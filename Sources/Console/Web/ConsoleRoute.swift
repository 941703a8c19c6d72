internal import Accounts
package import HTTPServing
package import HTTPTypes
package import Hummingbird
internal import RecordStore
internal import Records
internal import RemoteRecordStore
internal import RequestLog

/// A row of the console's table of routes: an address, what answers there, what the body may carry, who may ask, and
/// what the answer needs.
///
/// An address that begins with a slash is whole. The others are those of a place: they follow its container, its
/// environment and its database. The administrator alone may ask, unless a trait says otherwise.
package struct ConsoleRoute: Sendable {
    /// How a route differs from others.
    package enum Trait: Sendable {
        /// All clients may ask.
        case forEverybody
        /// Only clients on the server's own machine may ask.
        case fromThisMachineOnly
        /// The page of the answer shows the zones. A container in iCloud is not asked for them otherwise.
        case showsZones
        /// The answer may take so long that it must stop when the client disconnects.
        case takesLong
        /// The answer may have a secret that is shown once, so no cache may keep it.
        case showsSecret
        /// The answer is there at once, and takes no other thread.
        case isStatic
        // Not all consoles have what these need. Without it, there is no page at the address.
        case needsConnections
        case needsDemo
        case needsNotificationSender
        case needsWebServices
    }

    package let method: HTTPRequest.Method
    /// The whole address, with its variable parts in braces.
    package let pattern: String
    /// What the body carries; `nil` for a request without one.
    package let limit: FormLimit?
    package let traits: Set<Trait>
    fileprivate let respond: @Sendable (ConsoleRequest) async throws -> Response

    private init(
        _ method: HTTPRequest.Method, _ path: String, carries limit: FormLimit? = nil, _ traits: Set<Trait>,
        _ respond: @escaping @Sendable (ConsoleRequest) async throws -> Response
    ) {
        self.method = method
        pattern = path.hasPrefix("/") ? path : "\(Self.place)/\(path)"
        self.limit = limit
        self.traits = traits
        self.respond = respond
    }

    private static let place = "/c/{container}/{environment}/{database}"
}

// MARK: - Rows of a place

extension ConsoleRoute {
    /// A page.
    package static func page(
        _ path: String, _ load: @escaping @Sendable (Visit) async throws -> any Page, _ traits: Trait...
    ) -> ConsoleRoute {
        reading(path, Set(traits)) { .page(try await load($0)) }
    }

    /// A page, or the address of another one.
    package static func answer(
        _ path: String, _ answer: @escaping @Sendable (Visit) async throws -> Answer, _ traits: Trait...
    ) -> ConsoleRoute {
        reading(path, Set(traits), answer)
    }

    private static func reading(
        _ path: String, _ traits: Set<Trait>, _ answer: @escaping @Sendable (Visit) async throws -> Answer
    ) -> ConsoleRoute {
        ConsoleRoute(.get, path, traits) { asked in
            // Somebody waits for the page as a whole, however many requests it takes. Forms, downloads and long work
            // may take as long as their records do.
            let stopwatch =
                traits.contains(.takesLong) ? Stopwatch() : Stopwatch(cloudKitWithin: CloudKitMeter.pageTime)
            let visit = try await Visit(asked, fields: asked.query, traits, stopwatch: stopwatch)
            return try await asked.response(to: visit, traits, answer)
        }
    }

    /// A file. Its errors have no frame of the place.
    package static func file(
        _ path: String, _ answer: @escaping @Sendable (Visit) async throws -> Response, _ traits: Trait...
    ) -> ConsoleRoute {
        let traits = Set(traits)
        return ConsoleRoute(.get, path, traits) { asked in
            let visit = try await Visit(asked, fields: asked.query, traits)
            if let refusal = visit.refusal { throw refusal }
            return try await answer(visit)
        }
    }

    /// A form that changes data and then leads to the address that the action returns. It carries choices.
    package static func act(
        _ path: String, _ action: @escaping @Sendable (Visit) async throws -> String, _ traits: Trait...
    ) -> ConsoleRoute {
        form(path, carries: .choices, Set(traits)) { .redirect(try await action($0)) }
    }

    /// A form that changes data and then leads to another page, or is answered with its own, which says what was
    /// refused.
    package static func submit(
        _ path: String, carries limit: FormLimit, _ action: @escaping @Sendable (Visit) async throws -> Answer,
        _ traits: Trait...
    ) -> ConsoleRoute {
        form(path, carries: limit, Set(traits), action)
    }

    /// The longest text in a link, in bytes: servers and mail programs usually accept it.
    private static let linkLimit = 1_500

    /// The form of a page that only reads. A short one leads to a link that users can keep and send. A longer one, and
    /// one with a credential, which no address holds, is answered with the page itself.
    /// - Parameter names: the fields of the link; `nil` for all that have a value.
    package static func ask(
        _ path: String, keeping names: [String]? = nil, carries limit: FormLimit,
        _ load: @escaping @Sendable (Visit) async throws -> any Page, _ traits: Trait...
    ) -> ConsoleRoute {
        form(path, carries: limit, Set(traits)) { visit in
            let sent = visit.fields.pairs.filter { pair in
                !pair.value.isEmpty && names.map { $0.contains(pair.name) } ?? true
            }
            // A page with nothing to read says what it needs.
            if sent.isEmpty, let name = names?.first { return .redirect(visit.place.link(path, [(name, "")])) }
            let isShort = sent.reduce(0) { $0 + $1.value.utf8.count } <= linkLimit
            let isForLinks = isShort && !sent.contains { PastedValue($0.value).holdsCredential }
            return isForLinks ? .redirect(visit.place.link(path, sent)) : .page(try await load(visit))
        }
    }

    private static func form(
        _ path: String, carries limit: FormLimit, _ traits: Set<Trait>,
        _ action: @escaping @Sendable (Visit) async throws -> Answer
    ) -> ConsoleRoute {
        ConsoleRoute(.post, path, carries: limit, traits) { asked in
            let visit = try await Visit(asked, fields: try await asked.form(), traits)
            return try await asked.response(to: visit, traits, action)
        }
    }
}

// MARK: - Other rows

extension ConsoleRoute {
    /// What is of no place, or reads its place itself.
    package static func get(
        _ path: String, _ answer: @escaping @Sendable (ConsoleRequest) async throws -> Answer, _ traits: Trait...
    ) -> ConsoleRoute {
        ConsoleRoute(.get, path, Set(traits)) { try $0.response(try await answer($0)) }
    }

    /// A form that is of no place, or reads its fields and its place itself.
    package static func post(
        _ path: String, carries limit: FormLimit,
        _ action: @escaping @Sendable (ConsoleRequest) async throws -> Answer, _ traits: Trait...
    ) -> ConsoleRoute {
        ConsoleRoute(.post, path, carries: limit, Set(traits)) { try $0.response(try await action($0)) }
    }
}

// MARK: - Requests

/// A request to the console, before its place is known.
package struct ConsoleRequest: Sendable {
    package let console: Console
    package let request: Request
    package let context: ServingRequestContext
    /// Measures the time of a page that belongs to no container.
    let stopwatch = Stopwatch()
    /// What the body may carry.
    private let limit: FormLimit

    fileprivate init(
        to console: Console, _ request: Request, _ context: ServingRequestContext, carries limit: FormLimit?
    ) {
        (self.console, self.request, self.context) = (console, request, context)
        self.limit = limit ?? .names
    }

    /// The fields of the address.
    package var query: FormFields { request.queryFields }

    /// The fields of the submitted form, URL-encoded or multipart.
    /// - Throws: the errors of ``body()``, and `RecordError` TRY_AGAIN_LATER for a large form if the server is
    ///   overloaded.
    package func form() async throws -> FormFields { try await request.form(limit) }

    /// The body as it was sent.
    /// - Throws: the errors of `Request.bodyBytes`, such as that of a body beyond what the route carries.
    package func body() async throws -> [UInt8] { try await request.bodyBytes(limit: limit.bytes) }

    /// The fields of the submitted form, and the file that it brings; `nil` if the user chose none.
    package func upload() async throws -> (fields: FormFields, file: MultipartForm.Part?) {
        let bytes = try await body()
        let contentType = request.headers[.contentType]
        return try await WorkPool.prompt.run(on: bytes.count) {
            guard let form = MultipartForm(bytes, contentType: contentType) else {
                return (FormFields(encoded: bytes), nil)
            }
            return (form.fields, form.parts.first { $0.fileName != nil })
        }
    }

    /// The answer outside of any place.
    fileprivate func response(_ answer: Answer) throws -> Response {
        switch answer {
        case .page(let page): try console.renderer.response(page, stopwatch)
        case .redirect(let location): .redirect(to: location)
        case .response(let response): response
        }
    }

    /// The answer within the frame of a place.
    package func response(
        to visit: Visit, _ traits: Set<ConsoleRoute.Trait> = [],
        _ answer: @escaping @Sendable (Visit) async throws -> Answer
    ) async throws -> Response {
        try await console.response(to: visit) {
            traits.contains(.takesLong)
                ? try await context.lengthy { try await answer(visit) } : try await answer(visit)
        }
    }
}

extension Console {
    /// Adds the routes of a table, with the guards of each, and the error pages.
    ///
    /// Requires the guards of `HTTPServing`: they set the security headers and refuse forms from other sites.
    package func add(_ table: [ConsoleRoute], to routes: Routes) {
        let errors = ErrorPages(renderer: renderer)
        let open = routes.group { request, context, next in
            try await errors.handle { try await next(request, context) }
        }
        // Error pages are part of the administrator's session.
        let gate = access.mode == .required ? ConsoleGate(access: access, renderer: renderer) : nil
        let closed = routes.group { request, context, next in
            try await ShownNotice.handle(request) { request in
                try await errors.handle {
                    guard let gate else { return try await next(request, context) }
                    return try await gate.handle(request, context) { request in
                        try await errors.handle { try await next(request, context) }
                    }
                }
            }
        }
        closed.otherwise { _, _ in throw HTTPError(.notFound) }
        for route in table where route.traits.allSatisfy(has) {
            let group = route.traits.isDisjoint(with: [.isStatic, .forEverybody]) ? closed : open
            group.on(route.pattern, method: route.method) { request, context in
                try await response(to: request, context, at: route)
            }
        }
    }

    /// True if this console has what a trait needs.
    private func has(_ trait: ConsoleRoute.Trait) -> Bool {
        switch trait {
        case .needsConnections: connections != nil
        case .needsDemo: loadDemo != nil
        case .needsNotificationSender: notificationSender != nil
        case .needsWebServices: webServices != nil
        case .forEverybody, .fromThisMachineOnly, .showsZones, .takesLong, .showsSecret, .isStatic: true
        }
    }

    /// A part of this console that a route needs, so that the console has it.
    package func required<Part>(_ part: Part?) throws -> Part {
        guard let part else { throw HTTPError(.notFound) }
        return part
    }

    private func response(
        to request: Request, _ context: ServingRequestContext, at route: ConsoleRoute
    ) async throws -> Response {
        if route.traits.contains(.fromThisMachineOnly) { try checkPeer(of: request, context) }
        var response = try await route.respond(ConsoleRequest(to: self, request, context, carries: route.limit))
        if route.traits.contains(.showsSecret) { response.headers[.cacheControl] = "no-store" }
        return response
    }

    /// - Throws: `RecordError` ACCESS_DENIED for clients on other machines, because injected faults affect all clients.
    private func checkPeer(of request: Request, _ context: ServingRequestContext) throws {
        guard context.isFromThisMachine(request) else {
            throw RecordError(
                .accessDenied,
                "Rehearsals are allowed only for clients on the server's own machine, without a proxy; use an SSH tunnel"
            )
        }
    }

    /// The answer within the frame of a place. A change of a container in iCloud that nobody has confirmed becomes a
    /// question here, whatever form it is of.
    fileprivate func response(to visit: Visit, _ answer: () async throws -> Answer) async throws -> Response {
        let page: any Page
        do {
            if let refusal = visit.refusal { throw refusal }
            switch try await CloudKitMeter.$current.withValue(visit.stopwatch.cloudKit, operation: answer) {
            case .redirect(let location): return .redirect(to: location)
            case .response(let response): return response
            case .page(let answered): page = answered
            }
        } catch let change as UnconfirmedChange {
            page = ConfirmationView(changing: change.connection, visit)
        } catch let error as RecordError where visit.connection != nil && RecordError.isMissingInCloudKit(error) {
            page = ComponentPage(offeringMirror: error, visit)
        } catch let error as RecordError {
            // A refused form names the page that it was on.
            let form = Place.local(visit.fields["from"]).map { Frame.Link(text: "Back", href: $0) }
            page = ComponentPage(
                error, back: form ?? Frame.Link(text: "Back to the records", href: visit.place.link(Tab.query.rawValue))
            )
        }
        let states = await SidebarStates(visit, check: runs.check(of: visit.place), faults: faults.active.count)
        let frame = Frame(
            page: page, visit: visit, states: states, earlier: try await EarlierBanner(visit),
            staticFiles: renderer.staticFiles)
        return try renderer.response(page, in: frame)
    }
}
