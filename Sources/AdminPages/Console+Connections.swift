internal import CloudKitClient
internal import CloudKitRecordStore
internal import Console
internal import HTTPServing
internal import HTTPTypes
internal import Hummingbird
internal import Records

extension Console {
    /// Adds the page Connected containers, and the way to a sign-in at iCloud and back.
    /// - Parameter open: for the pages to which iCloud's site leads: browsers send no session with such a request.
    func addConnectionPages(to router: Routes.Group, open: Routes.Group) {
        guard connections != nil else { return }
        let actions = ConnectActions(console: self)
        router.get(ConnectActions.path) { request, _ in
            let notice = Notice.text(request.queryFields["notice"])
            return try alone(ConnectView(self, origin: request.ownOrigin, notice: notice))
        }
        router.post(ConnectActions.path) { request, _ in
            let fields = try await request.form(.names)
            switch try await actions.connect(fields, origin: request.ownOrigin) {
            case .connected: return .redirect(to: Self.connectedAddress)
            case .complaint(let draft): return try alone(ConnectView(self, origin: request.ownOrigin, draft: draft))
            case .signIn(let signIn):
                var answer = Response.redirect(to: FormFields.url(ConnectActions.signInPath, [("id", signIn.id)]))
                answer.headers[.setCookie] = access.returnCookie(
                    signIn.secret, for: request, seconds: Int(SignInsUnderWay.lifetime.components.seconds))
                return answer
            }
        }
        router.get(ConnectActions.signInPath) { request, _ in
            guard let signIn = actions.signIns.signIn(request.queryFields["id"] ?? "") else {
                throw RecordError(.notFound, "This sign-in has expired; start it again on the page Connected containers")
            }
            if signIn.ending == .connected { return .redirect(to: Self.connectedAddress) }
            var answer = try alone(SignInWaitView(signIn))
            // The window of the sign-in has to find this one, to post its message.
            answer.headers[.crossOriginOpenerPolicy] = "same-origin-allow-popups"
            return answer
        }
        // The message that the window of the sign-in posted to the page that opened it.
        router.post(ConnectActions.answerPath) { request, _ in
            let body = String(decoding: try await request.bodyBytes(limit: FormLimit.names.bytes), as: UTF8.self)
            guard let signIn = actions.signIns.signIn(FormFields(encoded: body.utf8)["id"] ?? ""), let answer = SignInAnswer(query: body) else {
                throw RecordError(.badRequest, "The form belongs to no sign-in in progress")
            }
            await actions.finish(signIn, answer)
            return Response(status: .noContent)
        }
        addSignInReturn(to: open, actions)
        router.get(ConnectActions.forgetPath) { request, _ in try alone(try actions.confirmForgetting(request.queryFields)) }
        router.post(ConnectActions.forgetPath) { request, _ in
            try await actions.forget(try await request.form(.names))
            return .redirect(to: FormFields.url(ConnectActions.path, [Notice.connectionForgotten.parameter]))
        }
    }

    private static let connectedAddress = FormFields.url(ConnectActions.path, [Notice.connected.parameter])

    /// The address that an API token names: iCloud leads the browser here with the token of the sign-in. It is taken, and the browser led away at once,
    /// so that the token is in no page and in no history. The cookie tells that this browser began the sign-in.
    private func addSignInReturn(to open: Routes.Group, _ actions: ConnectActions) {
        open.get(ConnectActions.returnPath) { request, _ in
            // Content that a page on another port embeds has the cookie too.
            let isFollowed = request.headers[.secFetchMode].map { $0 == "navigate" } ?? true
            let signIn = isFollowed ? actions.signIns.signIn(withSecret: access.returnSecrets(of: request)) : nil
            if let signIn, let answer = SignInAnswer(query: request.head.path.map { $0.drop { $0 != "?" }.dropFirst() } ?? "") {
                await actions.finish(signIn, answer)
            }
            // Also without a sign-in: the browser would keep the address of an error page, with the token.
            var response = Response.redirect(to: FormFields.url(ConnectActions.returnedPath, signIn.map { [("id", $0.id)] } ?? []))
            response.headers[.cacheControl] = "no-store"
            response.headers[.referrerPolicy] = "no-referrer"
            response.headers[.crossOriginOpenerPolicy] = "unsafe-none"
            return response
        }
        open.get(ConnectActions.returnedPath) { request, _ in
            guard let id = request.queryFields.text("id") else {
                throw RecordError(
                    .notFound, "No sign-in to iCloud is in progress in this browser. Start it on the page Connected containers, at the same address")
            }
            let next = FormFields.url(ConnectActions.signInPath, [("id", id)])
            var response = try alone(SignInReturnView(next: next, script: renderer.staticFiles.url("connect.js")))
            // A window that the console opened closes itself.
            response.headers[.crossOriginOpenerPolicy] = "unsafe-none"
            return response
        }
    }

    /// A page outside of any place. It may be about credentials, so nobody keeps it.
    private func alone(_ page: some Page) throws -> Response {
        var response = try renderer.response(page, in: Frame(title: page.title, staticFiles: renderer.staticFiles))
        response.headers[.cacheControl] = "no-store"
        return response
    }
}
