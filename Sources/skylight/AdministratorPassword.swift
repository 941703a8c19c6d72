import Foundation

/// The administrator's password from the environment.
enum AdministratorPassword {
    static let variable = "SKYLIGHT_ADMIN_PASSWORD"

    /// `nil` if the variable is not set or empty.
    static var ofEnvironment: String? {
        ProcessInfo.processInfo.environment[variable].flatMap { $0.isEmpty ? nil : $0 }
    }
}
