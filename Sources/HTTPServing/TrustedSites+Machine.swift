internal import Foundation
internal import NIOCore

extension TrustedSites {
    /// The names of a server that listens on an address.
    ///
    /// Of an address that stands for all of the machine's (`0.0.0.0`, `::`) they are the addresses that it has, and the names that it calls itself. An
    /// address in `Host` is no rebinding: no foreign page can have that for its name. Loopback names are always among them.
    /// - Parameters:
    ///   - hostname: what the server listens on.
    ///   - hosts: further names, as ``init(hosts:origins:)`` takes them.
    ///   - addresses: of this machine; asked of the system where they are not given.
    ///   - machineName: what this machine calls itself; asked likewise.
    public init(
        listeningOn hostname: String, hosts: [String] = [], origins: [String] = [], addresses: [String]? = nil, machineName: String? = nil
    ) {
        var names = hosts
        if Self.isWildcard(hostname) {
            names += (addresses ?? Self.machineAddresses()).map(Self.asHost)
            let machineName = machineName ?? ProcessInfo.processInfo.hostName
            let name = machineName.split(separator: ".").first.map(String.init) ?? machineName
            names += [machineName, name, "\(name).local"]
        } else {
            names.append(Self.asHost(hostname))
        }
        self.init(hosts: names, origins: origins)
    }

    /// Whether listening on an address means to listen on all that the machine has.
    public static func isWildcard(_ hostname: String) -> Bool {
        ["0.0.0.0", "::", "[::]"].contains(hostname)
    }

    /// An address or a name as it stands in `Host`: IPv6 in brackets, without the name of an interface.
    public static func asHost(_ address: String) -> String {
        guard address.contains(":"), !address.hasPrefix("[") else { return address }
        return "[\(address.prefix { $0 != "%" })]"
    }

    /// The addresses of this machine's interfaces.
    public static func machineAddresses() -> [String] {
        // Where the devices can't be listed the server answers to the names that it was given.
        ((try? System.enumerateDevices()) ?? []).compactMap { $0.address?.ipAddress }
    }
}
