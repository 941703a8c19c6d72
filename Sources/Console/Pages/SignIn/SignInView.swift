internal import Accounts
internal import HTTPServing
internal import HTTPTypes
internal import JSON
internal import Records

/// The page on which the user of an app signs in: as somebody whom the server knows, or as somebody new.
struct SignInView: Page {
    static let template = "sign_in"
    static let tab = Tab.home
    /// Users that are listed; anybody else is named.
    static let limit = 50

    struct Person: ViewModel {
        let handle: String
        let name: String
        let initial: String
        /// The e-mail address, or the handle where it says more than the name.
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
    /// What happens then.
    let after: String
    let people: [Person]
    /// Whether nobody who is there already can be chosen.
    let isForNewUsers: Bool
    /// How many there are besides.
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
        // Server-to-server keys are users too, and nobody signs in as one.
        let users = isForNewUsers ? [] : accounts.users().filter { !$0.isServerKey }
        status = complaint == nil ? .ok : .badRequest
        script = files.url("signin.js")
        self.ticket = ticket
        container = request.container.description
        environment = request.environment.rawValue
        apiToken = request.apiTokenID.flatMap { id in accounts.apiTokens().first { $0.id == id }?.name }
        after = switch way {
        case .callback(let address): "Then you are sent back to \(Self.withoutQuery(address))."
        case .opener(let origin): "Then this window tells \(origin), and closes."
        case .copy: "Then the token is shown, for you to copy."
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
        // A server that nobody was made on yet has the developer alone.
        isNewOpen = users.count <= 1 || complaint != nil && fields.text("user") == nil && fields.text("who") == nil
    }

    private static func withoutQuery(_ address: String) -> String {
        String(decoding: address.utf8.prefix { $0 != UInt8(ascii: "?") }, as: UTF8.self)
    }
}
