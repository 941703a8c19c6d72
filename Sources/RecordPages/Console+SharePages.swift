internal import Accounts
internal import Console
internal import HTTPServing
internal import Hummingbird
internal import RecordStore
internal import Records

extension Console {
    /// Adds the pages that make and change shares, and those that links of shares open.
    func addSharePages(to router: Routes.Group) {
        show("share", on: router) { .page(try await ShareView.load($0)) }
        submit("share", carries: .record(times: 1), on: router) { try await ShareActions.submit($0) }
        show("share/stop", on: router) { .page(try await ShareActions.confirmStop($0)) }
        submit("share/stop", carries: .choices, on: router) { try await ShareActions.stop($0) }
        show("share/leave", on: router) { .page(try await ShareActions.confirmLeaving($0)) }
        act("share/leave", on: router) { try await ShareActions.leave($0) }
        router.get("\(ShareLink.path)/{id}") { request, context in
            let shortGUID = String(context.parts[1])
            do {
                let invitation = try await Invitation.find(shortGUID, self)
                return try response(InvitationView(invitation, accepted: request.queryFields["as"], accounts))
            } catch let error as RecordError where error.code == .notFound {
                return try response(InvitationView(error))
            }
        }
        router.get("\(ShareLink.path)/{id}/thumbnail") { _, context in
            guard let image = try await Invitation.find(String(context.parts[1]), self).thumbnail() else { throw HTTPError(.notFound) }
            return .content(image.bytes, type: image.mediaType)
        }
        router.post("\(ShareLink.path)/{id}") { request, context in
            let shortGUID = String(context.parts[1])
            let fields = try await request.form(.names)
            return try await accept(shortGUID, as: fields.text("user") ?? fields["who"] ?? "")
        }
    }

    private func accept(_ shortGUID: String, as name: String) async throws -> Response {
        let invitation: Invitation
        do { invitation = try await Invitation.find(shortGUID, self) } catch let error as RecordError where error.code == .notFound {
            return try response(InvitationView(error))
        }
        do {
            guard let user = accounts.user(named: name), !user.isServerKey else { throw RecordError(.notFound, "There is no user '\(name)'") }
            try await invitation.accept(as: user, self)
            return .redirect(to: FormFields.url("\(ShareLink.path)/\(invitation.share.share.shortGUID)", [("as", user.handle)]))
        } catch let error as RecordError {
            return try response(InvitationView(invitation, error: error, for: name, accounts))
        }
    }

    private func response(_ page: InvitationView) throws -> Response {
        try renderer.response(page, in: Frame(title: page.title, staticFiles: renderer.staticFiles))
    }
}
