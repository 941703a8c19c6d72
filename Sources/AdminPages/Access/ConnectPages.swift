internal import CloudKitClient
package import Console
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import Records

/// The pages and forms of the connections, and the way to a sign-in at iCloud and back.
extension ConnectActions {
    package func show(_ asked: ConsoleRequest) throws -> Answer {
        let notice = Notice.text(asked.query["notice"]).map { NoticeView($0) }
        return .response(try alone(ConnectView.page(console, origin: asked.request.ownOrigin), notice: notice))
    }

    package func submit(_ asked: ConsoleRequest) async throws -> Answer {
        let (request, fields) = (asked.request, try await asked.form())
        switch try await connect(fields, origin: request.ownOrigin) {
        case .connected: return .redirect(Self.connectedAddress)
        case .complaint(let draft):
            return .response(try alone(ConnectView.page(console, origin: request.ownOrigin, draft: draft)))
        case .signIn(let signIn):
            var answer = Response.redirect(to: FormFields.url(Self.signInPath, [("id", signIn.id)]))
            answer.headers[.setCookie] = console.access.returnCookie(
                signIn.secret, for: request, seconds: Int(SignInsUnderWay.lifetime.components.seconds))
            return .response(answer)
        }
    }

    /// The page that waits for a sign-in.
    package func showSignIn(_ asked: ConsoleRequest) throws -> Answer {
        guard let signIn = signIns.signIn(asked.query["id"] ?? "") else {
            throw RecordError(.notFound, "This sign-in has expired; start it again on the page Connected containers")
        }
        if signIn.outcome == .connected { return .redirect(Self.connectedAddress) }
        var answer = try alone(ComponentPage(waitingFor: signIn))
        // The window of the sign-in has to find this one, to post its message.
        answer.headers[.crossOriginOpenerPolicy] = "same-origin-allow-popups"
        return .response(answer)
    }

    /// Takes the message that the window of the sign-in posted to the page that opened it.
    package func takeAnswer(_ asked: ConsoleRequest) async throws -> Answer {
        let body = String(decoding: try await asked.body(), as: UTF8.self)
        guard let signIn = signIns.signIn(FormFields(encoded: body.utf8)["id"] ?? ""),
            let answer = SignInAnswer(query: body)
        else {
            throw RecordError(.badRequest, "The form belongs to no sign-in in progress")
        }
        await finish(signIn, answer)
        return .response(Response(status: .noContent))
    }

    /// The address that an API token names: iCloud leads the browser here with the token of the sign-in. It is taken,
    /// and the browser led away at once, so that the token is in no page and in no history. The cookie tells that this
    /// browser began the sign-in.
    package func comeBack(_ asked: ConsoleRequest) async throws -> Answer {
        let request = asked.request
        // Content that a page on another port embeds has the cookie too.
        let isFollowed = request.headers[.secFetchMode].map { $0 == "navigate" } ?? true
        let signIn = isFollowed ? signIns.signIn(withSecret: console.access.returnSecrets(of: request)) : nil
        if let signIn,
            let answer = SignInAnswer(query: request.head.path.map { $0.drop { $0 != "?" }.dropFirst() } ?? "")
        {
            await finish(signIn, answer)
        }
        // Also without a sign-in: the browser would keep the address of an error page, with the token.
        var response = Response.redirect(
            to: FormFields.url(Self.returnedPath, signIn.map { [("id", $0.id)] } ?? []))
        response.headers[.cacheControl] = "no-store"
        response.headers[.referrerPolicy] = "no-referrer"
        response.headers[.crossOriginOpenerPolicy] = "unsafe-none"
        return .response(response)
    }

    /// The page that leads from there to the one that waits.
    package func showReturn(_ asked: ConsoleRequest) throws -> Answer {
        guard let id = asked.query.text("id") else {
            throw RecordError(
                .notFound,
                "No sign-in to iCloud is in progress in this browser. Start it on the page Connected containers, at the same address"
            )
        }
        let next = FormFields.url(Self.signInPath, [("id", id)])
        var response = try alone(
            AlonePage(backFromICloud: next, script: console.renderer.staticFiles.url("connect.js")))
        // A window that the console opened closes itself.
        response.headers[.crossOriginOpenerPolicy] = "unsafe-none"
        return .response(response)
    }

    package func confirmForgetting(_ asked: ConsoleRequest) throws -> Answer {
        .response(try alone(try confirmForgetting(asked.query)))
    }

    package func forget(_ asked: ConsoleRequest) async throws -> Answer {
        try await forget(try await asked.form())
        return .redirect(FormFields.url(Self.path, [Notice.connectionForgotten.parameter]))
    }

    private static var connectedAddress: String { FormFields.url(path, [Notice.connected.parameter]) }

    /// A page outside of any place. It may be about credentials, so nobody keeps it.
    private func alone(_ page: some Page, notice: NoticeView? = nil) throws -> Response {
        var response = try console.renderer.response(page, notice: notice)
        response.headers[.cacheControl] = "no-store"
        return response
    }
}
