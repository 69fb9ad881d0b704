// fill TEMPLATE JSON PAGE: fills a page like `flatline bench --html`, for the tests that open it.
#include "page.hpp"

#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace {

std::string read(const char *path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error(std::string("cannot read ") + path + ": give the path of a readable file");
    return {std::istreambuf_iterator<char>(file), {}};
}

void write(const char *path, const std::string &text) {
    std::ofstream file(path, std::ios::binary);
    file << text;
    if (!file.flush())
        throw std::runtime_error(std::string("cannot write ") + path + ": give a path in a writable folder");
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 4) {
        std::cerr << "usage: fill TEMPLATE JSON PAGE\n";
        return 2;
    }
    try {
        write(argv[3], flat::report::fill_page(read(argv[1]), read(argv[2])));
    } catch (const std::exception &error) {
        std::cerr << "fill: " << error.what() << '\n';
        return 2;
    }
    return 0;
}
