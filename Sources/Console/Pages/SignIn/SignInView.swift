internal import Accounts
internal import HTTPServing
internal import HTTPTypes
internal import JSON
internal import Records

/// The sign-in page for users of an app, with a choice of known users and a form for a new one.
struct SignInView: Page {
    static let template = "sign_in"
    static let tab = Tab.home
    /// The maximum number of users in the list. Other users enter their names.
    static let limit = 50

    struct Person: ViewModel {
        let handle: String
        let name: String
        let initial: String
        /// The e-mail address, or the handle if it differs from the name; `nil` if neither adds information.
        let detail: String?
    }

    let title = "Sign in"
    let status: HTTPResponse.Status
    let script: String
    let ticket: String
    let container: String
    let environment: String
    /// The name of the API token that the app sent.
    let apiToken: String?
    /// A description of the next step.
    let after: String
    let people: [Person]
    /// True if existing users can't be chosen.
    let isForNewUsers: Bool
    /// The number of users who are not listed.
    let more: String?
    let complaint: String?
    let isNewOpen: Bool
    let keeps: Bool
    let name: String
    let email: String

    init(
        ticket: String, _ request: SignInRequest, _ way: SignInWay, _ access: AccessControl, _ files: StaticFiles, fields: FormFields = FormFields(),
        complaint: String? = nil
    ) throws {
        let accounts = access.accounts
        isForNewUsers = SignIn.isForNewUsers(request, by: access)
        // Server-to-server keys have users too, but can't sign in.
        let users = isForNewUsers ? [] : accounts.users().filter { !$0.isServerKey }
        status = complaint == nil ? .ok : .badRequest
        script = files.url("signin.js")
        self.ticket = ticket
        container = request.container.description
        environment = request.environment.rawValue
        apiToken = request.apiTokenID.flatMap { id in accounts.apiTokens().first { $0.id == id }?.name }
        after = switch way {
        case .callback(let address): "Then you are sent back to \(Self.withoutQuery(address))."
        case .opener(let origin): "Then this window sends the token to \(origin), and closes."
        case .copy: "Then the page shows the token."
        }
        people = users.prefix(Self.limit).map { user in
            Person(
                handle: user.handle, name: user.displayName, initial: user.displayName.first.map { $0.uppercased() } ?? "?",
                detail: user.emailAddress ?? (user.handle.lowercased() == user.displayName.lowercased() ? nil : user.handle))
        }
        more = users.count > Self.limit ? Digits.count(users.count - Self.limit, "more user") : nil
        self.complaint = complaint
        keeps = fields["keep"] == "1"
        name = fields["name"] ?? ""
        email = fields["email"] ?? ""
        // A new server has only the developer.
        isNewOpen = users.count <= 1 || complaint != nil && fields.text("user") == nil && fields.text("who") == nil
    }

    private static func withoutQuery(_ address: String) -> String {
        String(decoding: address.utf8.prefix { $0 != UInt8(ascii: "?") }, as: UTF8.self)
    }
}
