// What `one_behaviour loaded_late` loads: a library of C++ for a program of C.
extern "C" __attribute__((visibility("default"))) int late_calls() {
    int *one = new int(3);
    int *many = new int[4]{4};
    const int sum = *one + many[0];
    delete[] many;
    delete one;
    return sum;
}
