internal import HTTPTypes

/// The page on which the administrator signs in.
struct AdministratorSignInView: Page {
    static let template = "admin_sign_in"
    static let tab = Tab.home

    /// The reason why there is no session.
    enum Notice: Sendable {
        case wrongPassword
        case tooMany(seconds: Int)
        case signedOut

        fileprivate var text: String {
            switch self {
            case .wrongPassword: "That is not the administrator’s password."
            case .tooMany(let seconds): "Too many wrong passwords. Try again in \(Digits.count(seconds, "second"))."
            case .signedOut: "You are signed out."
            }
        }
    }

    let title = "Sign in"
    let status: HTTPResponse.Status
    let script: String? = nil
    let action = SignInPath.page
    let next: String?
    /// True if an administrator password is set.
    let hasPassword: Bool
    let notice: String?
    let isComplaint: Bool

    init(next: String?, hasPassword: Bool, notice: Notice? = nil) {
        self.next = SignInPath.local(next)
        self.hasPassword = hasPassword
        self.notice = notice?.text
        switch notice {
        case .wrongPassword: (status, isComplaint) = (.forbidden, true)
        case .tooMany: (status, isComplaint) = (.tooManyRequests, true)
        case .signedOut, nil: (status, isComplaint) = (.ok, false)
        }
    }
}
